/**
 * Code that examines every byte of a response, 16 at a time (AssemblyScript, built into dist/scan.wasm). Nothing here
 * allocates. Each function depends only on the bytes it is given, never on what was in the block before.
 */
export { block } from './block'
export { beginJson, continueJson, endJson } from './json'
export { findEscapeStarts, starts } from './escape-starts'
