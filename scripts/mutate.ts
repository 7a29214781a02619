/**
 * Applies each mutation of e2e/spec-mutations/ separately, in a copy of the tree, and runs the test of its row. A
 * mutation that survives means that the test does not check what the row says. With `--unchanged` nothing is changed: a
 * test that fails then, perhaps on a busy machine, would seem to kill every mutation.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { transformSync } from 'esbuild'
import { mutations } from '../e2e/spec-mutations/mutations.ts'
import type { Edit } from '../e2e/spec-mutations/mutation.ts'
import { rows } from '../e2e/spec-rows.ts'
import type { Row } from '../e2e/spec-rows.ts'
import { prepareTests } from '../server/testkit/test-environment.ts'
import { copyTree } from './scratch-copy.ts'

const mostMs = 180_000
const root = resolve(import.meta.dirname, '..')
const say = (line: string) => process.stdout.write(`${line}\n`)

const { row: wanted = [''], unchanged = false } = parseArgs({
  options: { row: { type: 'string', multiple: true }, unchanged: { type: 'boolean' } },
}).values
const chosen = mutations.flatMap((mutation) => {
  const row = rows.find(({ what }) => what === mutation.row)
  return row && wanted.some((text) => row.what.includes(text)) ? [{ mutation, row }] : []
})
if (chosen.length === 0) throw new Error(`No row with a mutation holds "${wanted.join('" or "')}".`)

const scratch = mkdtempSync(join(tmpdir(), 'sallyport-mutate-'))
copyTree(root, scratch)
const prepared = await prepareTests(
  chosen.map(({ row }) => row.file),
  say,
)
try {
  const wrong: string[] = []
  for (const { mutation, row } of chosen) {
    const started = performance.now()
    const { isFailed, reason, ...seen } = await withEdits(unchanged ? [] : [mutation, mutation.also], () => judge(row))
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const [failed, passed] = unchanged ? ['failed', 'passed'] : ['killed', 'survived']
    const verdict = seen.verdict ?? (isFailed ? failed : passed)
    say(`${verdict.padEnd(8)} ${seconds.padStart(5)} s  ${row.what}${isFailed ? `\n${' '.repeat(19)}${reason}` : ''}`)
    if (isFailed === unchanged || seen.verdict === 'not run') {
      wrong.push(unchanged ? row.what : `${row.what}\n    ${mutation.file}: ${mutation.from} → ${mutation.to}`)
    }
  }
  const right = `${chosen.length - wrong.length} of ${chosen.length}`
  say(unchanged ? `\n${right} tests pass without a mutation.` : `\n${right} mutations were killed.`)
  for (const one of wrong) say(`  ${unchanged ? 'fails' : 'survived'}: ${one}`)
  process.exitCode = wrong.length > 0 ? 1 : 0
} finally {
  rmSync(scratch, { recursive: true, force: true })
  await prepared.end()
}

async function withEdits<T>([edit, ...others]: (Edit | undefined)[], work: () => Promise<T>): Promise<T> {
  if (!edit) return work()
  const { file, from, to } = edit
  const path = join(scratch, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(from).length !== 2) throw new Error(`${file} does not hold this exactly once: ${from}`)
  const broken = text.replace(from, () => to)
  // A test that fails because the file can't be parsed proves nothing.
  if (/\.tsx?$/.test(file)) transformSync(broken, { loader: file.endsWith('x') ? 'tsx' : 'ts' })
  const { atime, mtime } = statSync(path)
  writeFileSync(path, broken)
  try {
    return await withEdits(others, work)
  } finally {
    writeFileSync(path, text)
    utimesSync(path, atime, mtime)
  }
}

interface Verdict {
  isFailed: boolean
  /** Set if the result is neither a failed nor a passed test. */
  verdict?: 'hung' | 'not run'
  /** The first failure, to check that it is the intended one. */
  reason: string
}

async function judge({ file, name }: Row): Promise<Verdict> {
  // Tests of the whole service run the build. A mutation that does not build proves nothing.
  const build = ['-e', "import('./scripts/prepare.mjs').then(({ prepare }) => prepare())"]
  if (file.startsWith('e2e/') && (await run(build)).code !== 0)
    return { verdict: 'not run', isFailed: false, reason: '' }
  const pattern = name
    .split(/\$\{[^{}]*\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
  const only = [`--test-name-pattern=^${pattern}$`, '--test-skip-pattern=\\(postgres\\)', '--test-timeout=90000']
  const { code, output, isLate } = await run(['--test-reporter=spec', ...only, file])
  // The error below a failing test, from its first line on.
  const [, failing = ''] = output.split('✖ failing tests:')
  const lines = failing.trimStart().split('\n').slice(2, 9)
  const shown = lines
    .map((line) => line.trim())
    .join(' ')
    .trim()
    .slice(0, 300)
  if (isLate) return { verdict: 'hung', isFailed: true, reason: `no end after ${mostMs / 1000} s` }
  if (!/^ℹ tests [1-9]/m.test(output)) return { verdict: 'not run', isFailed: false, reason: '' }
  return { isFailed: code !== 0, reason: shown }
}

async function run(args: string[]): Promise<{ code: number | null; output: string; isLate: boolean }> {
  const child = spawn(process.execPath, args, { cwd: scratch, env: prepared.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const late = setTimeout(() => child.kill('SIGKILL'), mostMs)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(late)
  return { code, output, isLate: signal === 'SIGKILL' }
}
