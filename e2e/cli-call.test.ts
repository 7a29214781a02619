/** `sallyport call` as a script runs it: what it sends, what it prints, how it ends, and with which grant. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { binary, sharedAgentSide } from './agent-side.ts'
import type { CommandLine } from './command-line.ts'

const homes: CommandLine[] = []

/** A home folder whose command output is searched for tokens at the end. */
function watched<T extends CommandLine>(cli: T): T {
  homes.push(cli)
  return cli
}

const shared = sharedAgentSide()

/** An agent with a grant for the upstream. */
async function approved(terms: object = {}): Promise<CommandLine & { grantId: string; token: string }> {
  const cli = shared().home()
  const { token, grantId } = await shared().admitted(terms)
  const kept = await cli.run(['profile', 'set', '--agent-token-file', '-'], { input: token })
  assert.equal(kept.code, 0, kept.stderr)
  return watched({ ...cli, grantId, token })
}

let usual: ReturnType<typeof approved> | undefined

/** Shared by all tests that do not change it. */
async function caller(): ReturnType<typeof approved> {
  return (usual ??= approved())
}

describe('call', () => {
  test('writes exact bytes to a pipe and to a file', async () => {
    const { upstream } = shared()
    const cli = await caller()
    assert.deepEqual((await cli.run(['call', upstream('/binary')])).bytes, binary)
    // Numbers beyond the precision of JavaScript are kept.
    assert.equal((await cli.run(['call', upstream('/json')])).stdout, '{"name":"Ada","id":9007199254740993}')
    const file = join(cli.home, 'out')
    const written = await cli.run(['call', '-o', file, upstream('/binary')])
    assert.deepEqual([written.stdout, written.stderr], ['', `${binary.length} bytes written to ${file}\n`])
    assert.deepEqual(readFileSync(file), binary)
  })

  test('sends method, headers and body like curl, and JSON as JSON', async () => {
    const { upstream } = shared()
    const cli = await caller()
    const sent = async (words: string[], input = '') => {
      const { stdout, stderr } = await cli.run(['call', ...words, upstream('/echo')], { input })
      assert.notEqual(stdout, '', stderr)
      const { method, headers, body } = JSON.parse(stdout)
      return [method, headers['content-type'], Buffer.from(body, 'base64').toString()]
    }
    const file = join(cli.home, 'body')
    writeFileSync(file, 'two\nlines\n')
    assert.deepEqual(await sent([]), ['GET', undefined, ''])
    assert.deepEqual(await sent(['-d', '{"a": 1}']), ['POST', 'application/json', '{"a": 1}'])
    const form = 'application/x-www-form-urlencoded'
    assert.deepEqual(await sent(['-d', 'a=1', '-d', 'b=2']), ['POST', form, 'a=1&b=2'])
    assert.deepEqual(await sent(['-X', 'put', '-H', 'Content-Type: text/plain', '-d', `@${file}`]), [
      'PUT',
      'text/plain',
      'two\nlines\n',
    ])
    assert.deepEqual(await sent(['-X', 'PATCH', '-d', '-'], '[1]'), ['PATCH', 'application/json', '[1]'])
    assert.deepEqual(await sent(['-d', '@-'], 'x'), ['POST', form, 'x'])
  })

  test('-G, --data-raw, --data-binary, -F, -T and -I work as in curl', async () => {
    const { upstream } = shared()
    const cli = await caller()
    const sent = async (words: string[], input = '', path = '/echo') => {
      const { stdout, stderr } = await cli.run(['call', ...words, upstream(path)], { input })
      assert.notEqual(stdout, '', stderr)
      const { method, url, headers, body } = JSON.parse(stdout)
      return { method, url, type: headers['content-type'], body: Buffer.from(body, 'base64').toString() }
    }
    const form = 'application/x-www-form-urlencoded'
    const file = join(cli.home, 'a "file".txt')
    writeFileSync(file, 'two\nlines\n')
    const [raw, many] = [
      ['--data-raw', '@not-a-file'],
      ['-d', 'a=1', '--data-binary', `@${file}`, '--data-raw', '-'],
    ]
    assert.deepEqual(await sent(raw), { method: 'POST', url: '/echo', type: form, body: '@not-a-file' })
    assert.deepEqual(await sent(many), { method: 'POST', url: '/echo', type: form, body: 'a=1&two\nlines\n&-' })
    const query = await sent(['-G', '-d', 'a=1', '-d', 'b=x y'], '', '/echo?c=2#part')
    assert.deepEqual(query, { method: 'GET', url: '/echo?c=2&a=1&b=x%20y', type: undefined, body: '' })
    const put = { method: 'PUT', type: undefined, body: 'two\nlines\n' }
    assert.deepEqual(await sent(['-T', file]), { ...put, url: '/echo' })
    assert.deepEqual(await sent(['-T', file], '', '/folder/?v=1'), { ...put, url: '/folder/a%20%22file%22.txt?v=1' })
    assert.deepEqual(await sent(['-X', 'POST', '-T', '-'], 'typed'), {
      method: 'POST',
      url: '/echo',
      type: undefined,
      body: 'typed',
    })
    const fields = [
      'a=x;y',
      `b=@${file}`,
      `c=<${file};type=text/csv`,
      'd={};type=application/json',
      `e=@"${file.replaceAll('"', '\\"')}";filename="n\\"m.bin";type=image/png; charset=x`,
    ]
    const multipart = await sent(fields.flatMap((field) => ['-F', field]))
    const boundary = /^multipart\/form-data; boundary=(-{24}[0-9a-f]+)$/.exec(multipart.type)?.[1] ?? 'none'
    const part = (head: string, body: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
    assert.equal(
      multipart.body,
      [
        part('name="a"', 'x;y'),
        part('name="b"; filename="a %22file%22.txt"\r\nContent-Type: text/plain', 'two\nlines\n'),
        part('name="c"\r\nContent-Type: text/csv', 'two\nlines\n'),
        part('name="d"\r\nContent-Type: application/json', '{}'),
        part('name="e"; filename="n%22m.bin"\r\nContent-Type: image/png; charset=x', 'two\nlines\n'),
        `--${boundary}--\r\n`,
      ].join(''),
    )
    const head = await cli.run(['call', '-I', upstream('/hello')])
    assert.match(head.stdout, /^HTTP 200 OK\n(?:[^\n]+\n)*x-upstream: yes\n(?:[^\n]+\n)*\n$/)
    for (const words of [
      ['-F', 'a=1', '-d', 'b'],
      ['-T', file, '-F', 'a=1'],
      ['-I', '-d', 'x'],
      ['-I', '-X', 'GET'],
      ['-X', 'GET', '-d', 'x'],
      ['-F', 'nothing'],
      ['-F', 'a=@one,two'],
      ['-F', 'a=b;headers=x'],
      ['-F', `a=@${file}.not`],
      ['--data-binary', `@${file}.not`],
    ]) {
      const { code, stdout, stderr } = await cli.run(['call', ...words, upstream('/echo')])
      assert.deepEqual([code, stdout], [2, ''], `${words.join(' ')}: ${stderr}`)
    }
  })

  test('-f prints no body on failure, -s is silent, -S still shows errors', async () => {
    const { upstream, host } = shared()
    const cli = await caller()
    const outcome = async (...words: string[]) => {
      const { code, stdout, stderr } = await cli.run(['call', ...words])
      return [code, stdout, stderr]
    }
    const said = `sallyport: ${host} responded with 404\n`
    assert.deepEqual(await outcome('-f', upstream('/missing')), [22, '', said])
    assert.deepEqual(await outcome('-sf', upstream('/broken')), [23, '', ''])
    assert.deepEqual(await outcome('-sSfL', '--compressed', upstream('/missing')), [22, '', said])
    assert.deepEqual(await outcome('-s', upstream('/missing')), [22, '{"message":"no such thing"}', ''])
    assert.deepEqual(await outcome('-s', 'https://api.example.com/'), [4, '', ''])
    assert.deepEqual(await outcome('-f', '--compressed', upstream('/hello')), [0, 'hello', ''])
    const range = ['-H', 'Range: bytes=0-1', upstream('/hello')]
    assert.deepEqual(await outcome(...range), [0, 'hello', 'sallyport: headers not forwarded: range\n'])
    assert.deepEqual(await outcome('-s', ...range), [0, 'hello', ''])
    const file = join(cli.home, 'with-head')
    assert.deepEqual(await outcome('-s', '-i', '-o', file, upstream('/hello')), [0, '', ''])
    assert.match(readFileSync(file, 'utf8'), /^HTTP 200 OK\n[^]*\n\nhello$/)
  })

  test('exits by outcome, and reports on standard error what is not in the body', async () => {
    const { upstream, host } = shared()
    const cli = await approved({ allowed_methods: ['GET', 'POST'] })
    const outcome = async (...words: string[]) => {
      const { code, stdout, stderr } = await cli.run(['call', ...words])
      return [code, stdout, stderr]
    }
    assert.deepEqual(await outcome(upstream('/hello')), [0, 'hello', ''])
    assert.deepEqual(await outcome(upstream('/redirect')), [0, '', ''])
    assert.deepEqual(await outcome('-L', upstream('/redirect')), [0, 'hello', ''])
    assert.deepEqual(await outcome(upstream('/missing')), [
      22,
      '{"message":"no such thing"}',
      `sallyport: ${host} responded with 404\n`,
    ])
    assert.deepEqual(await outcome(upstream('/broken')), [23, 'oh no', `sallyport: ${host} responded with 500\n`])
    // A partial response is an error.
    const [code, stdout, stderr] = await outcome(upstream('/hang-up'))
    assert.deepEqual([code, stdout], [8, ''])
    assert.match(String(stderr), /^sallyport: \w+: .*\n$/)
  })

  test('an error has its code and the command that requests the missing access', async () => {
    const { upstream, host } = shared()
    const cli = await approved({ allowed_methods: ['GET'] })
    const refused = await cli.run(['call', '-g', cli.grantId, '-X', 'DELETE', upstream('/hello')])
    assert.deepEqual(
      [refused.code, refused.stdout, refused.stderr],
      [
        4,
        '',
        `sallyport: method_not_allowed: The grant does not cover this method.\nRequest access: sallyport request acme --host ${host} --method DELETE\n`,
      ],
    )
    const asJson = await cli.run(['call', '--json', '-g', cli.grantId, '-X', 'DELETE', upstream('/hello')])
    const { error } = JSON.parse(asJson.stderr)
    assert.equal(asJson.stdout, '')
    assert.deepEqual(
      [error.code, error.retryable, error.access_request, error.exit_code],
      ['method_not_allowed', false, { provider: 'acme', hosts: [host], methods: ['DELETE'] }, 4],
    )
    const none = await cli.run(['call', 'https://api.example.com/'])
    assert.equal(
      none.stderr,
      'sallyport: no_grant: no active grant covers GET api.example.com\nRequest one: sallyport request PROVIDER --host api.example.com --method GET\n',
    )
    const dry = await cli.run(['call', '--dry-run', '-g', cli.grantId, '-X', 'DELETE', upstream('/hello')])
    assert.deepEqual([dry.code, dry.stdout], [4, 'refused: method_not_allowed\n'])
    const allowed = await cli.run(['call', '--dry-run', upstream('/hello')])
    assert.deepEqual([allowed.code, allowed.stdout], [0, 'allowed\n'])
  })

  test("uses the newest of an account's grants that allows the call", async () => {
    const { upstream, approve } = shared()
    const cli = await approved({ allowed_paths: ['/hello'] })
    const ask = async (terms: object = {}) =>
      approve((await cli.run(['request', 'acme', '--no-wait'])).stdout.trim(), terms)
    const newest = await ask({ allowed_paths: ['/json'] })
    const used = async (path: string) => {
      const { code, stderr } = await cli.run(['call', upstream(path)])
      assert.equal(code, 0, stderr)
      const { grants } = JSON.parse((await cli.run(['grants', '--json'])).stdout)
      return Object.fromEntries(grants.map((grant: any) => [grant.grant_id, grant.calls]))
    }
    assert.deepEqual(await used('/json'), { [cli.grantId]: 0, [newest]: 1 })
    assert.deepEqual(await used('/hello'), { [cli.grantId]: 1, [newest]: 1 })
    const refused = await cli.run(['call', upstream('/binary')])
    assert.deepEqual(
      [refused.code, refused.stderr.split('\n')[0]?.slice(0, 35)],
      [4, 'sallyport: path_not_allowed: The gr'],
    )
    const last = await ask()
    assert.deepEqual(await used('/hello'), { [cli.grantId]: 1, [newest]: 1, [last]: 1 })
  })

  test('does not guess between two accounts, and describes their grants', async () => {
    const { upstream, host, connectAnother, approve, home, admitted } = shared()
    const cli = watched(home())
    const { token, grantId } = await admitted()
    await cli.run(['profile', 'set', '--agent-token-file', '-'], { input: token })
    const connectionId = await connectAnother('work')
    const terms = { connection_id: connectionId, allowed_methods: ['GET'] }
    const other = await approve((await cli.run(['request', 'acme', '--no-wait'])).stdout.trim(), terms)
    const { code, stderr } = await cli.run(['call', upstream('/hello')])
    assert.equal(code, 2)
    const first = `${grantId} (acme, ${shared().connectionId}, any method, expires never)`
    const second = `${other} (acme, ${connectionId}, GET, expires never)`
    assert.equal(
      stderr,
      `sallyport: several_grants: grants for several accounts cover ${host}; choose one with --grant: ${second}, ${first}\n`,
    )
    const { error } = JSON.parse((await cli.run(['call', '--json', upstream('/hello')])).stderr)
    assert.deepEqual(
      error.grants.map((grant: any) => [grant.grant_id, grant.connection_id, grant.allowed_methods]),
      [
        [other, connectionId, ['GET']],
        [grantId, shared().connectionId, null],
      ],
    )
    assert.equal((await cli.run(['call', '-g', other, upstream('/hello')])).stdout, 'hello')
    assert.equal((await cli.run(['call', '-X', 'POST', upstream('/hello')])).stdout, 'hello', 'one account may POST')
    const listed = (await cli.run(['grants'])).stdout.split('\n').map((line) => line.split('\t').slice(7, 9))
    assert.deepEqual(listed.slice(0, 2), [
      [connectionId, 'any'],
      [shared().connectionId, 'any'],
    ])
    assert.match((await cli.runInTerminal(['grants'])).stdout, /ACCOUNT/)
  })

  test("--json prints the service's whole response; --include adds status and headers", async () => {
    const { upstream } = shared()
    const cli = await caller()
    const answer = JSON.parse((await cli.run(['call', '--json', upstream('/missing')])).stdout)
    assert.deepEqual(Object.keys(answer).sort(), [
      'audit_id',
      'body',
      'body_encoding',
      'dropped_headers',
      'headers',
      'redactions',
      'status',
    ])
    assert.deepEqual([answer.status, answer.body], [404, { message: 'no such thing' }])
    const { stdout } = await cli.run(['call', '-i', upstream('/hello')])
    assert.match(stdout, /^HTTP 200 OK\n(?:[^\n]+\n)*x-upstream: yes\n(?:[^\n]+\n)*\nhello$/)
  })

  test('--stream prints data as it arrives, and no token is in the process arguments', async () => {
    const { upstream, release } = shared()
    const cli = await caller()
    const running = cli.start(['call', '--stream', upstream('/stream')])
    await running.until(/the first of it\n/)
    const visible = readFileSync(`/proc/${running.pid}/cmdline`, 'utf8')
    for (const secret of cli.secrets()) assert.ok(!visible.includes(secret))
    release()
    const { code, stdout } = await running.ended
    assert.deepEqual([code, stdout], [0, 'the first of it\nthe end\n'])
  })
})

test('no token was printed', () => {
  assert.ok(homes.length > 4)
  for (const cli of homes) {
    const printed = cli.printed()
    assert.ok(cli.secrets().length > 0)
    for (const secret of cli.secrets()) assert.ok(!printed.includes(secret))
  }
})
