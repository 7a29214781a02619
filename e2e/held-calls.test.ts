/** A held call reaches the upstream once or never, whoever decides at the same time, and whenever a process is killed. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startRawHttp, whole } from '../server/testkit/raw-http.ts'
import type { RawRequest } from '../server/testkit/raw-http.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import type { Reply } from './http-call.ts'
import { eventually, runServer, startService } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'

/** `npm run endurance` and others ask for more. */
const isLong = process.env['TEST_LONG_FORM'] === '1'

interface World extends Calling {
  /** How often the upstream got a call with this path. */
  times: (path: string) => number
  hold: (path: string, members?: object) => Promise<string>
  statusOf: (callId: string) => Promise<string>
  decide: (callId: string, verdict: 'approve' | 'deny', service?: RunningService) => Promise<Reply>
  cancel: (callId: string, service?: RunningService) => Promise<Reply>
}

async function startWorld(
  t: TestContext,
  engine: Engine,
  answers: (request: RawRequest) => boolean = () => true,
  hosts: string[] = [],
): Promise<World> {
  const upstream = await startRawHttp(t, (request, socket) => {
    if (answers(request)) socket.write(whole('200 OK', ['content-type: application/json'], '{"ok":true}'))
  })
  const calling = await startCalling(t, engine, { hosts: [upstream.host, ...hosts], approval: { mode: 'ask_writes' } })
  const { service, agent, personToken } = calling
  return {
    ...calling,
    times: (path) => upstream.requests.filter(({ target }) => target === path).length,
    hold: async (path, members = {}) => {
      const call = { method: 'POST', body: { path }, ...members }
      const { status, body, text } = await calling.proxy(`https://${upstream.host}${path}`, call)
      assert.equal(status, 202, text)
      return body.call_id as string
    },
    statusOf: async (callId) => {
      const { status, body, text } = await service.call('GET', `/v4/calls/${callId}`, { token: agent.token })
      assert.equal(status, 200, text)
      return body.status as string
    },
    decide: (callId, verdict, { call } = service) =>
      call('POST', `/v4/calls/${callId}/${verdict}`, { token: personToken }),
    cancel: (callId, { call } = service) => call('POST', `/v4/calls/${callId}/cancel`, { token: agent.token }),
  }
}

const isOver = (status: string) => !['waiting', 'approved', 'running'].includes(status)

async function eventsOf({ service, personToken }: Calling, callId: string): Promise<string[]> {
  const { body } = await service.call('GET', '/v4/audit?limit=200', { token: personToken })
  const records = (body as { records: { event: string; detail: { call_id?: string } }[] }).records
  return records.filter(({ detail }) => detail.call_id === callId).map(({ event }) => event)
}

test('100 decisions race over two processes: the call is made once or never, and the records say which', async (t) => {
  const world = await startWorld(t, 'postgres')
  const { service, times, hold, decide, cancel, statusOf } = world
  const base = { SALLYPORT_BASE_URL: `http://localhost:${service.port}` }
  const other = await startService(t, 'postgres', { ...service.env, ...base, PORT: String(await freePort()) })
  const outcomes = new Set<string>()
  for (let round = 0; round < (isLong ? 60 : 12); round++) {
    const path = `/race/${round}`
    const id = await hold(path)
    const acts = Array.from({ length: 100 }, (_, n) => {
      const at = n % 2 === 0 ? service : other
      // Each kind of act is the first in some rounds.
      const kind = ((n >> 1) + round) % 3
      if (kind === 0) return decide(id, 'approve', at)
      // An approved call can be cancelled until it starts, so it often would be.
      return kind === 1 || round % 2 === 0 ? decide(id, 'deny', at) : cancel(id, at)
    })
    const replies = await Promise.all(acts)
    for (const { status, text } of replies) assert.ok([200, 409].includes(status), text)
    await eventually(async () => isOver(await statusOf(id)), 'the call never ended')
    const status = await statusOf(id)
    const events = await eventsOf(world, id)
    const count = (event: string) => events.filter((one) => one === event).length
    outcomes.add(status)
    assert.equal(times(path), status === 'done' ? 1 : 0, `${status} ${events.join()}`)
    assert.equal(count('proxy.attempt'), times(path))
    assert.equal(count('proxy.approved') + count('proxy.denied'), status === 'cancelled' ? count('proxy.approved') : 1)
    assert.equal(count('proxy.cancelled'), status === 'cancelled' ? 1 : 0)
    assert.equal(count('proxy.denied'), status === 'denied' ? 1 : 0)
    if (status === 'done') assert.equal(count('proxy.approved'), 1)
  }
  assert.ok(outcomes.size >= 2, [...outcomes].join())
  assert.equal((await runServer(t, ['audit', 'verify'], service.env)).code, 0)
})

/** Accepts connections and never says anything: a call that goes there is running, and nothing of it was received. */
async function startSilent(t: TestContext): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `localhost:${(server.address() as AddressInfo).port}`
}

onBothDatabases('a process is killed', (engine) => {
  test('while a call waits: it can still be decided', async (t) => {
    const { service, hold, statusOf, decide, times } = await startWorld(t, engine)
    const [approved, denied] = [await hold('/approved'), await hold('/denied')]
    await service.kill()
    await service.startAgain()
    assert.equal(await statusOf(approved), 'waiting')
    assert.equal((await decide(approved, 'approve')).status, 200)
    assert.equal((await decide(denied, 'deny')).status, 200)
    await eventually(async () => (await statusOf(approved)) === 'done', 'the call was not made')
    assert.deepEqual([times('/approved'), times('/denied'), await statusOf(denied)], [1, 0, 'denied'])
  })

  test('right after an approval, at a different moment each time: it is never made twice', async (t) => {
    const { service, hold, statusOf, decide, times } = await startWorld(t, engine)
    const seen: string[] = []
    // The kill comes before, during or after the commit of the approval, or when the upstream has the request.
    const moments = [() => 0, () => sleep(20), (approving: Promise<unknown>) => approving, 'sent'] as const
    for (let kill = 0; kill < (isLong ? 40 : moments.length); kill++) {
      const path = `/kill/${kill}`
      const id = await hold(path, { timeout_ms: 3000 })
      const approving = decide(id, 'approve').catch(() => undefined)
      const moment = moments[kill % moments.length]
      if (moment === 'sent') await eventually(() => times(path) === 1, 'the upstream got nothing')
      else await moment?.(approving)
      await service.kill()
      await approving
      await service.startAgain()
      const after = await statusOf(id)
      seen.push(after)
      if (after === 'waiting') assert.equal(times(path), 0)
      // A call that was approved is started by the next process; one that was running ends with its deadline.
      if (after !== 'waiting') await eventually(async () => isOver(await statusOf(id)), 'it never ended', 800)
      const status = await statusOf(id)
      assert.ok(times(path) <= 1, `${path} was made ${times(path)} times`)
      if (status === 'done') assert.equal(times(path), 1)
      else assert.ok(['waiting', 'unknown'].includes(status), status)
    }
    t.diagnostic(seen.join())
  })

  test('while the call is sent, or before its answer has come: its outcome is unknown, and it is not made again', async (t) => {
    const silent = await startSilent(t)
    const world = await startWorld(t, engine, ({ target }) => target !== '/unanswered', [silent])
    const { service, hold, statusOf, decide, times, proxy } = world
    const sent = await hold('/unanswered', { timeout_ms: 3000 })
    const { body } = await proxy(`https://${silent}/unsent`, { method: 'POST', timeout_ms: 3000, body: {} })
    const unsent = body.call_id as string
    await Promise.all([decide(sent, 'approve'), decide(unsent, 'approve')])
    await eventually(() => times('/unanswered') === 1, 'the upstream got nothing')
    await eventually(async () => (await statusOf(unsent)) === 'running', 'it was not started')
    await service.kill()
    await service.startAgain()
    for (const id of [sent, unsent]) {
      assert.ok(['running', 'unknown'].includes(await statusOf(id)))
      await eventually(async () => (await statusOf(id)) === 'unknown', 'its outcome is known', 800)
      assert.equal((await decide(id, 'approve')).body.error.code, 'call_not_waiting')
    }
    assert.equal(times('/unanswered'), 1)
    const verified = await runServer(t, ['audit', 'verify'], service.env)
    assert.equal(verified.code, 0, verified.stdout)
  })
})

test('a service that stops lets an approved call end, and answers clients that wait', async (t) => {
  const world = await startWorld(t, 'sqlite', () => false)
  const { service, agent, hold, decide, times } = world
  const waits = await hold('/waits')
  const waiting = service.call('GET', `/v4/calls/${waits}`, { token: agent.token, headers: { prefer: 'wait=300' } })
  const runs = await hold('/runs', { timeout_ms: 2000 })
  await decide(runs, 'approve')
  await eventually(() => times('/runs') === 1, 'the upstream got nothing')
  const stopped = await service.stop()
  assert.deepEqual(stopped, { code: 0, signal: null })
  assert.equal((await waiting).body.status, 'waiting')
  await service.startAgain()
  assert.equal(await world.statusOf(waits), 'waiting')
  const { body } = await service.call('GET', `/v4/calls/${runs}`, { token: agent.token })
  assert.deepEqual([body.status, body.error.code], ['done', 'upstream_timeout'])
  assert.equal(times('/runs'), 1)
})
