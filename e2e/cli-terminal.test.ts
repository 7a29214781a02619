/** The command line on a terminal: its output, and that text from others cannot control the terminal. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { hostileText, sharedAgentSide } from './agent-side.ts'
import { executable } from './command-line.ts'

const shared = sharedAgentSide()
const run = promisify(execFile)

/** Any control character except a line break. */
const controls = /(?!\n)[\p{Cc}\p{Cf}]/u
const escape = '\u001b'
const colours = new RegExp(`${escape}\\[(?:1|2|3[1236]|22|39)m`, 'g')

let home: ReturnType<typeof prepare> | undefined

async function prepare() {
  const { home, admitted } = shared()
  const cli = home()
  const { token, grantId } = await admitted()
  await cli.run(['profile', 'set', '--agent-token-file', '-'], { input: token })
  return { ...cli, grantId }
}

/** Shared by all tests, as none of them changes it. */
async function person() {
  return (home ??= prepare())
}

describe('on a terminal', () => {
  test('a list is a table with headings, and colours only where they help', async () => {
    const { host } = shared()
    const cli = await person()
    const { stdout } = await cli.runInTerminal(['grants'])
    const plain = [
      `GRANT                           PROVIDER  STATUS  METHODS  HOSTS            CALLS  EXPIRES`,
      `${cli.grantId}  acme      active  any      ${host.padEnd(15)}  0      never`,
    ]
    assert.equal(stdout.replace(colours, ''), `${plain.join('\n')}\n`)
    assert.ok(stdout.includes('\u001b[32mactive\u001b[39m'))
    const narrow = (await cli.runInTerminal(['grants'], { columns: 80 })).stdout.replace(colours, '')
    assert.ok(
      narrow.split('\n').every((line) => Array.from(line).length <= 80),
      narrow,
    )
    assert.match(narrow, new RegExp(`^${cli.grantId}`, 'm'))
  })

  test('no colours with NO_COLOR, a terminal without them, or a pipe', async () => {
    const cli = await person()
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const { stdout } = await cli.runInTerminal(['grants'], { env })
      assert.match(stdout, /^GRANT /)
      assert.ok(!controls.test(stdout))
    }
    assert.ok(!controls.test((await cli.run(['--help'])).stdout))
  })

  test('control characters from an upstream are shown, never executed', async () => {
    const { upstream } = shared()
    const cli = await person()
    const shown = 'before\\x1b[2J\\x1b]0;owned\\x07\\x1b[31m\\x0dafter\\u202egpj.exe\\x9b31m\n'
    assert.equal((await cli.runInTerminal(['call', upstream('/hostile')])).stdout, shown)
    assert.equal((await cli.runInTerminal(['call', '--stream', upstream('/hostile')])).stdout, shown)
    for (const words of [
      ['call', upstream('/hostile.json')],
      ['call', '--json', upstream('/hostile')],
      ['call', '-i', upstream('/hostile')],
    ]) {
      const { stdout } = await cli.runInTerminal(words)
      assert.ok(!controls.test(stdout), stdout)
    }
    // Escaped as JSON it means the same.
    const { stdout } = await cli.runInTerminal(['call', '--json', upstream('/hostile')])
    assert.equal(JSON.parse(stdout).body, hostileText)
    assert.match(
      (await cli.runInTerminal(['call', upstream('/binary')])).stdout,
      /^\(8 bytes of application\/octet-stream, not shown on a terminal; use --output FILE\)\n$/,
    )
  })

  test('JSON is pretty-printed', async () => {
    const { upstream } = shared()
    const { stdout } = await (await person()).runInTerminal(['call', upstream('/missing')])
    assert.match(stdout, /^\{\n {2}"message": "no such thing"\n\}\n/)
  })

  test('a request shows its link and a waiting line that disappears at the end', async () => {
    const { approve, base } = shared()
    const cli = await person()
    const running = cli.startInTerminal(['request', 'acme'])
    const seen = await running.until(/Waiting for a decision, 0:\d\d.*Waiting for a decision/s)
    const [, id = ''] = /approve-proxy\/(arq_\w+)/.exec(seen) ?? []
    const grantId = await approve(id)
    const { code, stdout } = await running.ended
    assert.equal(code, 0)
    // The output without the erased progress lines.
    const left = stdout
      .replaceAll('\r\n', '\n')
      .replace(new RegExp(`(?:[⠀-⣿] Waiting[^\\r]*\\r${escape}\\[K)+`, 'gu'), '')
    assert.equal(
      left.replace(colours, ''),
      `A person has to approve access to Acme. Send them this link:\n  ${base}/approve-proxy/${id}\n  The link expires in 24 h.\n✓ Approved.\n${grantId}\n`,
    )
  })

  test('each command has help with an example of that command', async () => {
    const cli = await person()
    const all = (await cli.run(['--help'])).stdout
    const names = [...all.matchAll(/^ {2}(?!sallyport )([a-z-]+(?: [a-z]+)?) {2,}/gm)].map(([, name]) => name ?? '')
    assert.ok(names.length > 20, all)
    const helps = await Promise.all(
      names
        .filter((_, at) => at % 4 === 0)
        .map(async (name) => ({ name, ...(await cli.run([...name.split(' '), '--help'])) })),
    )
    for (const { name, code, stdout } of helps) {
      assert.equal(code, 0, name)
      assert.match(
        stdout,
        new RegExp(`^\\S.*\\.\n[^]*\nUsage\n  sallyport ${name}\\b[^]*\nExamples\n  # .*\n  .*sallyport`),
        name,
      )
    }
    assert.equal((await cli.run(['help', 'call'])).stdout, (await cli.run(['call', '-h'])).stdout)
  })
})

test('bash completes commands, options, choices and profiles', async () => {
  const cli = await person()
  const bin = join(cli.home, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(executable, join(bin, 'sallyport'))
  const env = { ...cli.env, PATH: `${bin}:${join(process.execPath, '..')}:${cli.env['PATH'] ?? ''}` }
  const words = [
    ['gr'],
    ['providers', 'a'],
    ['call', '--st'],
    ['grants', '--status', ''],
    ['grants', '--profile', ''],
    ['completion', 'z'],
    ['call', '@'],
  ]
  const lines = words.map(
    (typed) =>
      `COMP_WORDS=(sallyport ${typed.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${typed.length}; _sallyport; echo "\${COMPREPLY[*]}"`,
  )
  const script = ['eval "$(sallyport completion bash)"', ...lines, 'complete -p sallyport'].join('\n')
  const { stdout } = await run('bash', ['--norc', '-c', script], { env })
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'grants',
    'add',
    '--stream',
    'active expired revoked',
    'default',
    'zsh',
    '',
    'complete -o default -F _sallyport sallyport',
  ])
})
