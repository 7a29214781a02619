/**
 * Byte scanners in WebAssembly, which look at 16 bytes at a time. Their source is in server/assembly. Copy bytes into
 * `block`, then call a scanner before anything else overwrites them.
 */
import { readFileSync } from 'node:fs'

/** The few members used here: Node's types don't declare WebAssembly. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

interface Exports {
  memory: { buffer: ArrayBuffer }
  block: { value: number }
  starts: { value: number }
  beginJson: (maxDepth: number) => void
  /** Returns 0 once the text can't become valid JSON any more, otherwise 1. */
  continueJson: (length: number) => number
  /** Returns 1 if the text is complete JSON. */
  endJson: () => number
  /** Writes positions to `starts` and returns how many. */
  findEscapeStarts: (length: number, areQuotesWanted: boolean) => number
}

export const blockBytes = 32_768

const { memory, ...exports } = new WebAssembly.Instance(new WebAssembly.Module(built())).exports as Exports

export const { beginJson, continueJson, endJson, findEscapeStarts } = exports
export const block = new Uint8Array(memory.buffer, exports.block.value, blockBytes)
/** Positions in the block. */
export const starts = new Int32Array(memory.buffer, exports.starts.value, blockBytes)

function built(): Uint8Array {
  try {
    return readFileSync(new URL(import.meta.resolve('#scan.wasm')))
  } catch (cause) {
    throw new Error('This service is not built. In its folder, run: npm run build', { cause })
  }
}
