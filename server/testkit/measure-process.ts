/** Imported before a test file that has a process of its own. */
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { measureFile } from './file-times.ts'

const file = relative(process.cwd(), process.argv[1] ?? '')
// Not what the file starts in its turn, in folders of its own.
if (isMainThread && file.endsWith('.test.ts') && !file.startsWith('..')) process.on('exit', measureFile(file))
