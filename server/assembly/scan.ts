/**
 * What looks at every byte of an answer, sixteen at once (AssemblyScript, built into dist/scan.wasm). Nothing here
 * allocates; each function sees the part of the block that it is told of, and nothing that lay there before.
 */
export { block } from './block'
export { beginJson, continueJson, endJson } from './json'
export { findEscapeStarts, starts } from './escape-starts'
