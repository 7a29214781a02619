/**
 * What looks at every byte of an answer, in WebAssembly: sixteen bytes at once, where JavaScript sees one. The source is
 * in server/assembly. Bytes are put into `block`, and looked at before anything else is put there.
 */
import { readFileSync } from 'node:fs'

/** What we need of it: Node's own types leave it to those of browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

interface Exports {
  memory: { buffer: ArrayBuffer }
  block: { value: number }
  starts: { value: number }
  beginJson: (maxDepth: number) => void
  /** Zero once the text can no longer become JSON, else one. */
  continueJson: (length: number) => number
  /** One where the text is whole. */
  endJson: () => number
  /** How many of `starts` were found in the block. */
  findEscapeStarts: (length: number, areQuotesWanted: boolean) => number
}

export const blockBytes = 32_768

const { memory, ...exports } = new WebAssembly.Instance(new WebAssembly.Module(built())).exports as Exports

export const { beginJson, continueJson, endJson, findEscapeStarts } = exports
export const block = new Uint8Array(memory.buffer, exports.block.value, blockBytes)
/** Places in the block. */
export const starts = new Int32Array(memory.buffer, exports.starts.value, blockBytes)

function built(): Uint8Array {
  try {
    return readFileSync(new URL(import.meta.resolve('#scan.wasm')))
  } catch (cause) {
    throw new Error('This service is not built. In its folder, run: npm run build', { cause })
  }
}
