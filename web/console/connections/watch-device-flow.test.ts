import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PollDeviceFlowReply } from '@sallyport/sdk'
import { watchDeviceFlow } from './watch-device-flow.ts'

type Answer = PollDeviceFlowReply | Error

function watching(answers: Answer[]) {
  const pauses: number[] = []
  const end = watchDeviceFlow({
    intervalSeconds: 5,
    poll: async () => {
      const answer = answers.shift()
      if (!answer || answer instanceof Error) throw answer ?? new Error('asked once too often')
      return answer
    },
    pause: async (seconds) => void pauses.push(seconds),
    mayPass: (problem) => problem instanceof Error && problem.message === 'away',
  })
  return { end, pauses }
}

test("it is polled at the service's interval, which may grow", async () => {
  const { end, pauses } = watching([
    { status: 'pending', interval: 5 },
    { status: 'slow_down', interval: 10 },
    { status: 'pending', interval: 10 },
    { status: 'connected', interval: 10 },
  ])
  assert.equal(await end, 'connected')
  assert.deepEqual(pauses, [5, 5, 10, 10])
})

test('a denial and expiry end the polling', async () => {
  for (const status of ['denied', 'expired'] as const) {
    assert.equal(await watching([{ status, interval: 5 }]).end, status)
  }
})

test('a lost response is retried, a refusal is not', async () => {
  const { end, pauses } = watching([new Error('away'), new Error('away'), { status: 'connected', interval: 5 }])
  assert.equal(await end, 'connected')
  assert.deepEqual(pauses, [5, 5, 5])
  await assert.rejects(watching([new Error('conflict')]).end, /conflict/)
})
