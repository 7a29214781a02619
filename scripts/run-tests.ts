/** Runs the tests, with a PostgreSQL server (unless TEST_DATABASE_URL is set) and a browser for them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { slowest } from '../server/testkit/file-times.ts'
import { prepareTests } from '../server/testkit/test-environment.ts'
import { groupTests } from '../server/testkit/test-groups.ts'

const everything = [
  'protocol/src/**/*.test.ts',
  'sdk/src/**/*.test.ts',
  'cli/src/**/*.test.ts',
  'server/**/*.test.ts',
  'e2e/**/*.test.ts',
  'web/**/*.test.ts',
]
const isOption = (word: string) => word.startsWith('-')
const given = process.argv.slice(2).filter((word) => word !== '--slowest')
const showsSlowest = process.argv.includes('--slowest')
const words = given.filter((word) => !isOption(word))
const files = globSync(words.length > 0 ? words : everything, { exclude: ['**/node_modules/**'] }).sort()
if (files.length === 0) throw new Error(`No test file is called ${words.join(' or ')}.`)
const { together, alone } = groupTests(files.map((path) => ({ path, text: readFileSync(path, 'utf8') })))

const runner = new URL('../server/testkit/run-together.ts', import.meta.url).href
const measuring = new URL('../server/testkit/measure-process.mjs', import.meta.url).href
const say = (line: string) => process.stderr.write(`${line}\n`)
say(
  `${files.length} files: ${together.flat().length} share ${together.length} processes, ${alone.length} have their own`,
)
const prepared = await prepareTests(files, say)
const { folder } = prepared
const finished = join(folder, 'finished')
const times = join(folder, 'times')
try {
  const env = {
    ...prepared.env,
    ...(showsSlowest && { TEST_FILE_TIMES: times, NODE_OPTIONS: `--import=${measuring}` }),
  }
  const groups = together.map((group, index) => {
    const entry = join(folder, `group-${index + 1}.mjs`)
    const words = [group, finished].map((word) => JSON.stringify(word))
    writeFileSync(entry, `import { runTogether } from '${runner}'\nawait runTogether(${words.join(', ')})\n`)
    return entry
  })
  // Three processes more than there are cores: while some wait for a server or a timer, others work.
  const limits = ['--test-timeout=120000', `--test-concurrency=${availableParallelism() + 3}`]
  // A young generation that fits what tests create: collecting it is a twentieth of their CPU time otherwise.
  const args = ['--max-semi-space-size=32', '--test', ...limits, ...given.filter(isOption), ...groups, ...alone]
  const child = spawn(process.execPath, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (showsSlowest) slowest(times, files).forEach(say)
  const done = existsSync(finished) ? readFileSync(finished, 'utf8').split('\n') : []
  const missed = together.flat().filter((file) => !done.includes(file))
  if (missed.length > 0) say(`A process exited before it finished these files: ${missed.join(' ')}`)
  process.exitCode = missed.length > 0 ? 1 : (code ?? 1)
} finally {
  await prepared.end()
}
