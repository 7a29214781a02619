import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling, CallingOptions } from '../../testkit/calling.ts'
import { insertGrant } from '../../testkit/grants.ts'

/** Larger than the system's socket buffers. */
const large = Buffer.alloc(10_000_000, 'a')

const start = (t: Parameters<typeof startCalling>[0], options: CallingOptions = {}) =>
  startCalling(t, 'sqlite', {
    answer: (response, { path }) => response.end(path === '/small' ? 'small' : large),
    ...options,
  })

/** Resolves with the head of a buffered response, of which nothing more is read. */
const unread = ({ stream }: Calling) => stream({ stream: false })

const callsSmall = async ({ proxy, upstream }: Calling) =>
  (await proxy({ url: `https://${upstream.host}/small` })).status

async function another({ service, upstream, userId, connectionId }: Calling): Promise<() => Promise<number>> {
  const { agentId, token } = await service.registerAgent()
  const { grantId } = await insertGrant(service, { agentId, userId, connectionId, allowedHosts: [upstream.host] })
  const body = { grant_id: grantId, method: 'GET', url: `https://${upstream.host}/small` }
  return async () => (await service.call('POST', '/v4/proxy', { token, body })).status
}

/** A part of each in turn, so that all of them grow at the same pace. */
async function sendSideBySide(responses: readonly ServerResponse[]): Promise<void> {
  const partBytes = 200_000
  for (let sent = 0; sent < large.length; sent += partBytes) {
    for (const response of responses) response.write(large.subarray(sent, sent + partBytes))
    await sleep(1)
  }
  for (const response of responses) response.end()
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10)
}

test('an agent that does not read its responses is refused further calls; others are not', async (t) => {
  const calling = await start(t)
  const answers = []
  for (let calls = 0; calls < 30; calls++) {
    const one = await unread(calling)
    answers.push(one)
    if (one.status !== 200) break
  }
  const refused = answers.pop()
  assert.ok(refused)
  assert.deepEqual([refused.status, refused.answer.headers['retry-after']], [429, '1'])
  const { error } = (await json(refused.answer)) as { error: { code: string; message: string } }
  assert.equal(error.code, 'rate_limited')
  assert.match(error.message, /unread/)
  assert.ok(answers.length >= 2 && answers.length <= 6, `${answers.length} answers`)
  assert.equal(calling.upstream.received.length, answers.length)
  assert.equal(await (await another(calling))(), 200)
  // Those that are read, and those whose caller goes, make room.
  for (const [index, { answer, request }] of answers.entries()) {
    if (index % 2 === 0) request.destroy()
    else for await (const chunk of answer) assert.ok(chunk)
  }
  await until(async () => (await callsSmall(calling)) === 200)
})

test('concurrent responses beyond the limit fail, and say that the call was made', async (t) => {
  const calls = 16
  const waiting: ServerResponse[] = []
  const calling: Calling = await start(t, {
    answer: (response, { path }) => {
      if (path === '/small') response.end('small')
      else if (waiting.push(response) === calls) void sendSideBySide(waiting)
    },
  })
  // The service listens from then on.
  ;(await calling.stream({ url: `https://${calling.upstream.host}/small` })).request.destroy()
  const all = await Promise.all(Array.from({ length: calls }, () => unread(calling)))
  const given = all.filter(({ status }) => status === 200)
  assert.ok(given.length > 0 && given.length <= 6, `${given.length} answers`)
  for (const { status, answer } of all) {
    if (status === 200) continue
    const { error } = (await json(answer)) as { error: { code: string; message: string } }
    assert.ok(['upstream_body_too_large', 'rate_limited'].includes(error.code), error.code)
    if (error.code === 'upstream_body_too_large') assert.match(error.message, /^The call was made/)
  }
  assert.equal(await (await another(calling))(), 200)
})

test("a call's slot is free once its response is sent or its connection closed", async (t) => {
  const calling = await start(t, { settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '2' } })
  const [first, second] = [await unread(calling), await unread(calling)]
  assert.equal(await callsSmall(calling), 429)
  for await (const chunk of first.answer) assert.ok(chunk)
  await until(async () => (await callsSmall(calling)) === 200)
  await unread(calling)
  assert.equal(await callsSmall(calling), 429)
  second.request.destroy()
  await until(async () => (await callsSmall(calling)) === 200)
})

test('a client that does not read its response is disconnected; one that waits for it is not', async (t) => {
  const calling: Calling = await start(t, {
    settings: { SALLYPORT_UNREAD_ANSWER_SECONDS: '1', SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '3' },
    answer: (response, { path }) => {
      if (path === '/slow') setTimeout(() => response.end('slow'), 2_500)
      else if (path === '/pauses') {
        response.write('first')
        setTimeout(() => response.end('last'), 2_500)
      } else response.end(path === '/small' ? 'small' : large)
    },
  })
  const { host } = calling.upstream
  const cutOff = [await unread(calling), await calling.stream()]
  const slow = await calling.stream({ stream: false, url: `https://${host}/slow` })
  assert.equal(((await json(slow.answer)) as { body: string }).body, 'slow')
  const pausing = await calling.stream({ url: `https://${host}/pauses` })
  const parts = []
  for await (const part of pausing.answer) parts.push(String(part))
  assert.equal(parts.join(''), 'firstlast')
  // All three places are free again, although nobody has read anything nor hung up.
  const free = async () => {
    const statuses = await Promise.all([1, 2, 3].map(() => callsSmall(calling)))
    return statuses.every((status) => status === 200)
  }
  await until(free)
  for (const { answer: unfinished } of cutOff) {
    await assert.rejects(async () => {
      for await (const chunk of unfinished) assert.ok(chunk)
    })
  }
})
