/** Brings a PostgreSQL server for the tests, unless TEST_DATABASE_URL names one, and a browser, and runs them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from '../server/testkit/browser.ts'
import { preparePostgresTemplate, prepareSqliteTemplate } from '../server/testkit/databases.ts'
import { slowest } from '../server/testkit/file-times.ts'
import { findMemory } from '../server/testkit/memory.ts'
import { bringPrograms } from '../server/testkit/programs.ts'
import { bringPython } from '../server/testkit/python.ts'
import { startPostgres } from '../server/testkit/postgres-server.ts'
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
const measuring = new URL('../server/testkit/measure-process.ts', import.meta.url).href
const say = (line: string) => process.stderr.write(`${line}\n`)
const postgres = process.env['TEST_DATABASE_URL'] ? undefined : await startPostgres()
const url = process.env['TEST_DATABASE_URL'] ?? postgres?.url ?? ''
say(`PostgreSQL for the tests: ${postgres ? `started on port ${new URL(url).port}` : 'TEST_DATABASE_URL'}`)
say(
  `${files.length} files: ${together.flat().length} share ${together.length} processes, ${alone.length} have their own`,
)
const template = await preparePostgresTemplate(url)
const folder = mkdtempSync(join(findMemory() ?? tmpdir(), 'sallyport-tests-'))
// A PostgreSQL server that a test starts runs as another user, and has its folder in there.
chmodSync(folder, 0o711)
const sqliteTemplate = join(folder, 'migrated.db')
const finished = join(folder, 'finished')
const times = join(folder, 'times')
try {
  await prepareSqliteTemplate(sqliteTemplate)
  if (files.some((file) => file.includes('legacy-peer'))) await bringPython('cryptography')
  const needsBrowser = files.some((file) => file.includes('e2e'))
  await bringPrograms(['curl', 'openssl', ...(needsBrowser ? ['chromium-headless-shell'] : [])])
  // Fetching a browser may take longer than a test may. Where there is none, the tests that need it say so.
  if (needsBrowser) await findBrowser({ isWhole: true }).catch(() => undefined)
  const env = {
    ...process.env,
    TEST_DATABASE_URL: url,
    TEST_DATABASE_TEMPLATE: template.name,
    TEST_SQLITE_TEMPLATE: sqliteTemplate,
    // Whatever a test that was killed leaves goes with the folder: memory is not to fill up.
    TMPDIR: folder,
    TEST_KEYS: join(folder, 'keys'),
    // The processes load the same modules.
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compiled'),
    ...(showsSlowest && { TEST_FILE_TIMES: times, NODE_OPTIONS: `--import=${measuring}` }),
  }
  const groups = together.map((group, index) => {
    const entry = join(folder, `group-${index + 1}.mjs`)
    const words = [group, finished].map((word) => JSON.stringify(word))
    writeFileSync(entry, `import { runTogether } from '${runner}'\nawait runTogether(${words.join(', ')})\n`)
    return entry
  })
  // Two processes more than there are cores: while some wait for a server or a clock, others work.
  const limits = ['--test-timeout=120000', `--test-concurrency=${availableParallelism() + 2}`]
  const args = ['--test', ...limits, ...given.filter(isOption), ...groups, ...alone]
  const child = spawn(process.execPath, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (showsSlowest) slowest(times, files).forEach(say)
  const done = existsSync(finished) ? readFileSync(finished, 'utf8').split('\n') : []
  const missed = together.flat().filter((file) => !done.includes(file))
  if (missed.length > 0) say(`A process ended before these files did: ${missed.join(' ')}`)
  process.exitCode = missed.length > 0 ? 1 : (code ?? 1)
} finally {
  rmSync(folder, { recursive: true, force: true })
  await template.drop()
  await postgres?.stop()
}
