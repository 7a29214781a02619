/** Brings a PostgreSQL server for the tests, unless TEST_DATABASE_URL names one, and a browser, and runs them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from '../server/testkit/browser.ts'
import { prepareTemplate } from '../server/testkit/databases.ts'
import { bringPrograms } from '../server/testkit/programs.ts'
import { startPostgres } from '../server/testkit/postgres-server.ts'

const everything = ['protocol/src/**/*.test.ts', 'server/**/*.test.ts', 'e2e/**/*.test.ts']
const given = process.argv.slice(2)
const files = given.some((word) => !word.startsWith('-')) ? given : [...given, ...everything]

const say = (line: string) => process.stderr.write(`${line}\n`)
const postgres = process.env['TEST_DATABASE_URL'] ? undefined : await startPostgres()
const url = process.env['TEST_DATABASE_URL'] ?? postgres?.url ?? ''
say(`PostgreSQL for the tests: ${postgres ? `started on port ${new URL(url).port}` : 'TEST_DATABASE_URL'}`)
const template = await prepareTemplate(url)
try {
  await bringPrograms(['curl', 'openssl'])
  // Fetching a browser may take longer than a test may. Where there is none, the tests that need it say so.
  const needsBrowser = files.some((file) => file.includes('e2e'))
  const browser = needsBrowser ? await findBrowser().catch(() => undefined) : undefined
  const env = {
    ...process.env,
    TEST_DATABASE_URL: url,
    TEST_DATABASE_TEMPLATE: template.name,
    // Every file is a process of its own, and loads the same modules.
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compiled'),
    ...(browser && { SALLYPORT_TEST_BROWSER: browser }),
  }
  // One file more than there are cores: while one waits for a server or a clock, another works.
  const args = ['--test', '--test-timeout=120000', `--test-concurrency=${availableParallelism() + 1}`, ...files]
  const runner = spawn(process.execPath, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
  const [code] = (await once(runner, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  await template.drop()
  await postgres?.stop()
}
