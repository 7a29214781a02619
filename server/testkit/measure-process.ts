/** Imported before a test file that runs in its own process. */
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { measureFile } from './file-times.ts'

const file = relative(process.cwd(), process.argv[1] ?? '')
// Only the test file itself, not processes that it starts in other folders.
if (isMainThread && file.endsWith('.test.ts') && !file.startsWith('..')) process.on('exit', measureFile(file))
