/** Calls and a change of their grant's terms: whichever is committed first decides, and calls in progress are judged anew. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { startCallLog } from '../../testkit/call-log.ts'
import { soon, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { ServiceError } from '../platform/errors.ts'
import type { GrantTerms } from './narrower.ts'
import { grantStore } from './grant-store.ts'

async function change({ service, userId, grantId }: Calling, terms: Partial<GrantTerms>): Promise<void> {
  const { database } = service
  await database.transaction(async (tx) => {
    const grant = await grantStore.lockOfUser(database, tx, userId, grantId)
    assert.ok(grant)
    await grantStore.changeTerms(tx, grantId, { ...grant, ...terms }, null)
  })
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return undefined
  } catch (error) {
    return (error as ServiceError).code
  }
}

onBothDatabases('a change of the terms', (engine) => {
  for (const mode of ['transactional', 'single-statement'] as const) {
    test(`refuses calls that were judged before it and not recorded (${mode})`, async (t) => {
      const { log, service, stores, newCall, again, eventsOf } = await startCallLog(t, engine, mode)
      const call = await newCall()
      const { grant } = call.standing
      await log.begin(call)
      await service.database.transaction((tx) => grantStore.changeTerms(tx, grant.grantId, grant, null))
      const late = [again(call), again(call)]
      const standing = await stores.standings.find(service.database.queries, call.agentId, grant.grantId)
      assert.ok(standing)
      const codes = await Promise.all([...late, { ...again(call), standing }].map((one) => codeOf(log.begin(one))))
      assert.deepEqual(codes, ['conflict', 'conflict', undefined])
      assert.deepEqual(await Promise.all(late.map(eventsOf)), [[], []])
      for (const why of ['redirect', 'token_renewed'] as const) {
        await assert.rejects(log.hop(call, why), (error: ServiceError) => error.code === 'conflict', why)
      }
    })
  }

  test('applies to the next call, and ends streams that it does not cover, but no others', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => {
        if (path.startsWith('/stream')) response.writeHead(200).write('begun')
        else response.end('done')
      },
    })
    const { service, upstream } = calling
    const to = (path: string) => ({ url: `https://${upstream.host}${path}` })
    const [kept, ended] = [await calling.stream(to('/stream/kept')), await calling.stream(to('/stream/ended'))]
    const isCut = once(ended.answer.resume(), 'error')
    assert.equal((await calling.proxy(to('/other'))).status, 200)
    await change(calling, { allowedPaths: ['/stream/kept'], maxAccess: 'read' })
    assert.equal((await calling.proxy(to('/other'))).body.error.code, 'path_not_allowed')
    await service.app.checkCallsInFlight()
    await soon(isCut)
    await service.app.checkCallsInFlight()
    assert.equal(kept.answer.destroyed, false)
    await change(calling, { exceptions: [{ paths: ['/stream'], methods: null, action: 'deny' }] })
    const isCutToo = once(kept.answer.resume(), 'error')
    await service.app.checkCallsInFlight()
    await soon(isCutToo)
    const codes = (await calling.records()).filter(({ detail }) => detail.outcome !== undefined || detail.code)
    assert.deepEqual(
      codes.map(({ detail }) => detail.code).filter((code) => code !== undefined),
      ['path_not_allowed', 'path_not_allowed', 'denied_by_exception'],
    )
  })
})
