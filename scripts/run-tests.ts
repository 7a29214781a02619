/** Brings a PostgreSQL server for the tests, unless TEST_DATABASE_URL names one, and runs them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startPostgres } from '../server/testkit/postgres-server.ts'

const everything = ['protocol/src/**/*.test.ts', 'server/**/*.test.ts', 'e2e/**/*.test.ts']
const given = process.argv.slice(2)
const files = given.some((word) => !word.startsWith('-')) ? given : [...given, ...everything]

const say = (line: string) => process.stderr.write(`${line}\n`)
const postgres = process.env['TEST_DATABASE_URL'] ? undefined : await startPostgres()
const url = process.env['TEST_DATABASE_URL'] ?? postgres?.url ?? ''
say(`PostgreSQL for the tests: ${postgres ? `started on port ${new URL(url).port}` : 'TEST_DATABASE_URL'}`)
try {
  const args = ['--test', '--test-timeout=120000', ...files]
  const runner = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, TEST_DATABASE_URL: url } })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
  const [code] = (await once(runner, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  await postgres?.stop()
}
