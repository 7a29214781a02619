/** A malicious service: its text is shown without control characters, and no token is sent where it redirects. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { commandLineIn } from './command-line.ts'
import { dataFolder } from './running-service.ts'

/** Escape sequences and shell syntax: sets the clipboard, clears the screen, reorders text, starts another command. */
const evil = '\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u202eX\u009b31m\r\n; touch owned'
const obeyed = ['\u001b]', '\u001b[2J', '\u202e', '\u009b', '\u0007']
const token = `sp_agent_${'a'.repeat(40)}`

async function listening(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function homeFor(t: TestContext, url: string) {
  const cli = commandLineIn(dataFolder(t), { SALLYPORT_URL: url, SALLYPORT_AGENT_TOKEN: token })
  t.after(cli.stop)
  return cli
}

test('ids, names and errors of any text cannot control the terminal or open a page', async (t) => {
  const names = 'grant_id access_request_id provider provider_name kind status name agent_id slug approval_url'
  const record: Record<string, unknown> = Object.fromEntries(names.split(' ').map((name) => [name, evil]))
  Object.assign(record, { echo_url: evil, expires_at: evil, access_token: token, allowed_hosts: [evil] })
  const answer = { ...record, agent: record, body: { headers: { authorization: evil } } }
  const url = await listening(t, (_request, response) => {
    response.end(JSON.stringify({ ...answer, grants: [record], next_cursor: null }))
  })
  const cli = homeFor(t, url)
  const lines = [
    ['grants'],
    ['wait', 'arq_1'],
    ['request', 'acme', '--no-wait', '--open'],
    ['sandbox'],
    ['register', 'Helper', '--profile', 'other'],
  ]
  const all = await Promise.all(lines.map((words) => cli.runInTerminal(words)))
  for (const { code, stdout } of all) {
    assert.equal(code, 0, stdout)
    assert.deepEqual(
      [...obeyed, token].filter((text) => stdout.includes(text)),
      [],
    )
  }
  assert.match(all[2]?.stdout ?? '', /Could not open a browser/)
  assert.ok(!readdirSync(cli.home).includes('owned'))
})

test('no token is sent to a redirect of the service', async (t) => {
  const seen: unknown[] = []
  const elsewhere = await listening(t, ({ headers }, response) => {
    seen.push(headers.authorization)
    response.end('{}')
  })
  const url = await listening(t, (_request, response) => {
    response.writeHead(307, { location: `${elsewhere}/v4/grants` }).end()
  })
  const { code, stderr } = await homeFor(t, url).run(['grants'])
  assert.deepEqual([code, stderr], [1, 'sallyport: unexpected_answer: Unexpected response with status 307.\n'])
  assert.deepEqual(seen, [])
})

test('without HOME nothing is stored in the current folder, and a password is not repeated', async (t) => {
  const cli = homeFor(t, 'https://me:hunter2@sallyport.example.com')
  const place = join(cli.home, 'somewhere')
  mkdirSync(place)
  const homeless = await cli.run(['register', 'Helper'], { cwd: place, env: { HOME: '', SALLYPORT_URL: '' } })
  assert.deepEqual([homeless.code, readdirSync(place)], [3, []])
  assert.match(homeless.stderr, /^sallyport: no home directory.*\nSet SALLYPORT_CONFIG_DIR\.\n$/)
  const env = { HOME: '', SALLYPORT_URL: 'http://127.0.0.1:1', SALLYPORT_AGENT_TOKEN: token }
  const whoami = await cli.run(['whoami', '--json'], { cwd: place, env })
  const { folder, agent_token_from } = JSON.parse(whoami.stdout)
  assert.deepEqual([whoami.code, folder, agent_token_from], [0, null, 'SALLYPORT_AGENT_TOKEN'])
  const withPassword = await cli.run(['grants'])
  assert.equal(withPassword.code, 2)
  assert.doesNotMatch(withPassword.stderr, /hunter2/)
})
