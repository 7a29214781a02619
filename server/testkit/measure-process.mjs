// Imported before a test file that runs in its own process. Not TypeScript: tests also start Node 20, which can't read it.
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const file = relative(process.cwd(), process.argv[1] ?? '')
// Only the test file itself, not processes that it starts in other folders.
if (isMainThread && file.endsWith('.test.ts') && !file.startsWith('..')) {
  const { measureFile } = await import('./file-times.ts')
  process.on('exit', measureFile(file))
}
