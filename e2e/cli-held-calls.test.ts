/** Calls that a person has to approve, with the command line and the MCP server. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Progress } from '@modelcontextprotocol/sdk/types.js'
import type { AgentClient, UserClient } from '@sallyport/sdk'
import { sharedAgentSide } from './agent-side.ts'
import { executable } from './command-line.ts'
import { failure, startHeldAgent } from './held-agent.ts'
import type { HeldAgent } from './held-agent.ts'
import { connected } from './mcp-session.ts'
import type { Session } from './mcp-session.ts'
import { eventually } from './running-service.ts'

const shared = sharedAgentSide()

describe('a call that a person has to approve', () => {
  let agent: AgentClient
  let user: UserClient
  let token: string
  let grantId: string
  let hold: HeldAgent['hold']
  let statusOf: HeldAgent['statusOf']
  before(async () => {
    ;({ agent, user, token, grantId, hold, statusOf } = await startHeldAgent(shared()))
  })
  const at = (path: string) => shared().upstream(path)
  const home = () => shared().home({ SALLYPORT_AGENT_TOKEN: token })
  const personsHome = () => shared().home({ SALLYPORT_SESSION_TOKEN: shared().personToken })

  describe('the command line', () => {
    const link = /approve-call\/(cal_\w+)/

    test('prints the link, waits, and prints the response', async () => {
      const cli = home()
      const words = ['call', '-g', grantId, '--reason', 'To greet', at('/hello?cli')]
      const running = cli.start(words)
      const [, callId = ''] = link.exec(await running.until(link)) ?? []
      assert.equal((await user.calls.get(callId)).reason, 'To greet')
      await user.calls.approve(callId)
      const { code, stdout, stderr } = await running.ended
      assert.deepEqual([code, stdout], [0, 'hello'])
      assert.match(stderr, /A person has to approve this call/)
    })

    test('says that a person denied it, and why', async () => {
      const cli = home()
      const running = cli.start(['call', '--json', '-g', grantId, at('/hello?cli-denied')])
      const [, callId = ''] = link.exec(await running.until(link)) ?? []
      await user.calls.deny(callId, { reason: 'no, thanks' })
      const { code, stdout, stderr } = await running.ended
      const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
      assert.deepEqual([code, stdout], [5, ''])
      assert.deepEqual([error.code, error.denial_reason, error.call_id], ['call_denied', 'no, thanks', callId])
    })

    test('Ctrl-C cancels the call and says so', async () => {
      const running = home().start(['call', '-g', grantId, at('/hello?cli-stopped')])
      const [, callId = ''] = link.exec(await running.until(link)) ?? []
      running.signal('SIGINT')
      const { code, stderr } = await running.ended
      assert.equal(code, 130)
      assert.match(stderr, /the call was cancelled and will not be made/)
      assert.equal(await statusOf(callId), 'cancelled')
    })

    test('an agent gives up waiting, looks, and gets the response later', async () => {
      const cli = home()
      const given = await cli.run(['call', '-g', grantId, '--wait', '0', at('/hello?cli-later')])
      assert.equal(given.code, 6)
      assert.match(given.stderr, /neither made nor denied[^]*sallyport calls wait cal_/)
      const [, callId = ''] = link.exec(given.stderr) ?? []
      assert.match((await cli.run(['calls', '--status', 'waiting'])).stdout, new RegExp(callId))
      assert.match((await cli.run(['calls', 'show', callId])).stdout, /is waiting: GET .*approve-call/s)
      assert.equal((await cli.run(['calls', 'wait', '--timeout', '0', callId])).code, 6)
      await user.calls.approve(callId)
      const { code, stdout } = await cli.run(['calls', 'wait', callId])
      assert.deepEqual([code, stdout], [0, 'hello'])
      const { call_id: other } = JSON.parse(
        (await cli.run(['call', '--json', '-g', grantId, '--wait', '0', at('/hello?cli-cancel')])).stderr
          .split('\n')
          .at(-2) ?? '',
      ).error
      assert.match((await cli.run(['calls', 'cancel', other])).stdout, /is cancelled/)
    })

    test('a person lists, shows, approves and denies calls, and ends repeats', async () => {
      const cli = personsHome()
      const [one, two] = [await hold({ url: at('/by-cli') }), await hold({ url: at('/hello?not-by-cli') })]
      const listed = await cli.run(['calls', '--person', '--status', 'waiting'])
      assert.ok(listed.stdout.includes(one) && listed.stdout.includes(two))
      const shown = await cli.run(['calls', 'show', '--person', '--json', one])
      const { digest } = JSON.parse(shown.stdout)
      assert.equal((await cli.run(['calls', 'approve', one])).code, 2, 'without a terminal it needs the digest')
      assert.notEqual((await cli.run(['calls', 'approve', two, '--digest', digest])).code, 0, 'of another call')
      const approved = await cli.run(['calls', 'approve', one, '--digest', digest, '--repeat-for', '15m'])
      assert.equal(approved.code, 0, approved.stderr)
      assert.equal((await agent.calls.wait(one)).status, 200)
      const again = { grant_id: grantId, method: 'GET', url: at('/by-cli') }
      assert.equal((await agent.proxy(again, { waitMs: 0 })).status, 200, 'it does not ask again')
      const [, repeatId = ''] = /^(rep_\w+)/m.exec((await cli.run(['calls', 'repeats'])).stdout) ?? []
      assert.equal((await cli.run(['calls', 'repeats', '--end', repeatId])).code, 0)
      assert.equal((await failure(agent.proxy(again, { waitMs: 0 }))).code, 'approval_pending')
      assert.match((await cli.run(['calls', 'deny', two, '--reason', 'no'])).stdout, /is denied/)
      assert.equal((await agent.calls.get(two)).denial_reason, 'no')
    })

    test('on a terminal a person is shown the call and asked', async () => {
      const cli = personsHome()
      const callId = await hold({ method: 'POST', url: at('/hello?terminal'), body: { a: '\u001b[2J' } })
      const running = cli.startInTerminal(['calls', 'approve', callId])
      const seen = await running.until(/Approve this call\? \[y\/N\]/)
      assert.match(seen, /POST https:.*terminal/)
      assert.ok(!seen.includes('\u001b[2J'))
      running.type('y\r')
      assert.equal((await running.ended).code, 0)
      assert.equal((await agent.calls.wait(callId)).status, 200)
    })
  })

  describe('the MCP server', () => {
    let session: Session
    let client: Client
    before(async () => {
      client = new Client({ name: 'a test', version: '1' })
      const { env } = home()
      session = await connected(
        client,
        new StdioClientTransport({ command: process.execPath, args: [executable, 'mcp'], env }),
      )
    })
    after(() => client.close())

    test('returns the link, and the response later', async () => {
      const given = { grant_id: grantId, method: 'POST', url: at('/hello?mcp'), wait_seconds: 0, reason: 'For a test' }
      const { facts, isError } = await session.use('call_api', given)
      assert.deepEqual([isError, facts.status], [undefined, 'waiting'])
      assert.match(facts.approval_url, /\/approve-call\/cal_/)
      assert.match(facts.next, /neither made nor denied.*Show approval_url.*call_result/)
      const waiting = { call_id: facts.call_id }
      assert.equal((await session.use('call_result', { ...waiting, wait_seconds: 0 })).facts.status, 'waiting')
      assert.equal((await user.calls.get(facts.call_id)).reason, 'For a test')
      const result = session.use('call_result', waiting)
      await user.calls.approve(facts.call_id)
      const { facts: done } = await result
      assert.deepEqual([done.status, done.data.body, done.host], [200, 'hello', shared().host])
    })

    test('reports progress with the link while it waits', async () => {
      const heard: Progress[] = []
      const onprogress = (progress: Progress) => {
        heard.push(progress)
        const [, id] = /approve-call\/(cal_\w+)/.exec(progress.message ?? '') ?? []
        if (heard.length === 1) void user.calls.approve(id ?? '')
      }
      const { facts } = await session.use('read_api', { grant_id: grantId, url: at('/hello?progress') }, { onprogress })
      assert.equal(facts.status, 200)
      assert.match(heard[0]?.message ?? '', /A person has to approve this call at http/)
    })

    test('a denial tells the model to stop, a cancelled tool or call is cancelled', async () => {
      const given = { grant_id: grantId, method: 'DELETE', url: at('/hello?mcp-denied'), wait_seconds: 0 }
      const { facts } = await session.use('call_api', given)
      await user.calls.deny(facts.call_id, { reason: 'keep it' })
      const denied = await session.use('call_result', { call_id: facts.call_id })
      assert.deepEqual([denied.isError, denied.facts.error.code], [true, 'call_denied'])
      assert.equal(denied.facts.error.denial_reason, 'keep it')
      assert.match(denied.facts.next, /Do not make this call again/)

      const { facts: other } = await session.use('call_api', { ...given, url: at('/hello?mcp-cancelled') })
      const cancelled = await session.use('cancel_call', { call_id: other.call_id })
      assert.equal(cancelled.facts.status, 'cancelled')

      const controller = new AbortController()
      const url = at('/hello?mcp-aborted')
      const aborted = session.use('call_api', { ...given, url, wait_seconds: 60 }, { signal: controller.signal })
      const held = async () => (await agent.calls.list({ status: 'waiting' }).all()).find((call) => call.url === url)
      await eventually(async () => (await held()) !== undefined, 'it does not wait')
      const { call_id: id } = (await held()) ?? assert.fail()
      controller.abort()
      await assert.rejects(aborted)
      await eventually(async () => (await statusOf(id)) === 'cancelled', 'it was not cancelled')
    })
  })
})
