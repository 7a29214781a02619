import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { grantsInEveryState } from '../../testkit/grant-states.ts'
import type { GrantInState } from '../../testkit/grant-states.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import type { ServiceError } from '../platform/errors.ts'
import { createStores } from '../stores.ts'
import { createCallsInFlight } from './calls-in-flight.ts'
import { isCutOff, refusalFor, statusOf, whyEnded, whyUnusable } from './usable.ts'
import type { GrantState, Unusable } from './usable.ts'

const now = new Date('2026-11-15T12:00:00.000Z')
const usable: GrantState = {
  grant: {
    revokedAt: null,
    isCutOff: false,
    isPaused: false,
    expiresAt: new Date(now.getTime() + 1),
    maxCalls: 3,
    calls: 2,
  },
  connection: { status: 'active' },
  provider: { status: 'active' },
  isTokenCurrent: true,
}
const expired = { expiresAt: now }
const exhausted = { calls: 3 }
const disabled = { provider: { status: 'disabled' } } as const
const signedOut = { connection: { status: 'needs_reauth' } } as const

function because(reason: Unusable | undefined, terms: Partial<GrantState['grant']>, rest: Partial<GrantState> = {}) {
  const state = { ...usable, ...rest, grant: { ...usable.grant, ...terms } }
  assert.equal(whyUnusable(state, now), reason, JSON.stringify(state))
}

test('a grant is usable until it, its connection, agent or user ends, or it is used up', () => {
  because(undefined, {})
  because(undefined, { expiresAt: null, maxCalls: null, calls: 1_000 })
  because(undefined, {}, { connection: null, provider: null })
  because('unauthenticated', {}, { isTokenCurrent: false })
  because('grant_revoked', { revokedAt: now })
  because('grant_revoked', { isCutOff: true })
  because('grant_expired', expired)
  because('paused', { isPaused: true })
  because('provider_disabled', {}, disabled)
  because('provider_disabled', {}, { provider: { status: 'pending_credentials' } })
  because('connection_needs_reauth', {}, signedOut)
  because('grant_exhausted', exhausted)
  because('grant_exhausted', { calls: 4 })
})

test('of several reasons the first is reported', () => {
  const all = { ...expired, ...exhausted, revokedAt: now }
  because('unauthenticated', all, { ...disabled, ...signedOut, isTokenCurrent: false })
  because('grant_revoked', all, { ...disabled, ...signedOut })
  because('grant_expired', { ...expired, ...exhausted, isPaused: true }, { ...disabled, ...signedOut })
  because('paused', { ...exhausted, isPaused: true }, { ...disabled, ...signedOut })
  because('provider_disabled', exhausted, { ...disabled, ...signedOut })
  because('connection_needs_reauth', exhausted, signedOut)
})

test('a call in flight can continue although it was the last one of its grant', () => {
  const grant = { ...usable.grant, ...exhausted }
  assert.equal(whyEnded({ ...usable, grant }, now), undefined)
  assert.equal(whyEnded({ ...usable, grant: { ...grant, ...expired } }, now), 'grant_expired')
})

test('a grant ends with its connection and its user', () => {
  assert.deepEqual(
    [isCutOff(null, null), isCutOff('active', null), isCutOff('needs_reauth', null)],
    [false, false, false],
  )
  assert.deepEqual([isCutOff('revoked', null), isCutOff('active', 0), isCutOff(null, 1)], [true, true, true])
})

test('a grant is active until it is revoked, cut off, expired or used up', () => {
  const status = (terms: Partial<GrantState['grant']>) => statusOf({ ...usable.grant, ...terms }, now)
  assert.equal(status({}), 'active')
  assert.equal(status({ expiresAt: null, maxCalls: null }), 'active')
  assert.equal(status(expired), 'expired')
  assert.equal(status(exhausted), 'expired')
  assert.equal(status({ revokedAt: now }), 'revoked')
  assert.equal(status({ isPaused: true }), 'active')
  assert.equal(status({ isCutOff: true }), 'revoked')
  assert.equal(status({ isCutOff: true, ...expired, ...exhausted }), 'revoked')
})

const statuses = ['active', 'revoked', 'expired'] as const
const page = { limit: 10, after: undefined, agentId: undefined, connectionId: undefined }

onBothDatabases('in every state and pair of states', (engine) => {
  test('each form of the rule agrees with the rule', async (t) => {
    const service = await startService(t, engine)
    const all = await grantsInEveryState(service)
    assert.ok(all.length > 100)
    await assertEndInFlight(service, all)
    for (const [form, says] of Object.entries(formsIn(service))) {
      for (const one of all) {
        const { expected, actual } = await says(one)
        assert.deepEqual(actual, expected, `${form}: ${one.name}`)
      }
    }
  })
})

/** Calls in flight end with what their grant stands on. */
async function assertEndInFlight(service: TestService, all: readonly GrantInState[]): Promise<void> {
  const flights = createCallsInFlight({
    ...{ ...service, ...storesOf(service), clock: service.clock.now },
    findCurrentKeys: () => Promise.resolve(new Set()),
  })
  const calls = all.map((one) => ({ ...one, ...flights.begin({ grantId: one.grantId, termsVersion: 1 }, one) }))
  await flights.check()
  for (const { name, state, controller } of calls) {
    // A connection that needs a new sign-in keeps the token that is in use.
    const reason = whyEnded({ ...state, connection: null }, now)
    assert.equal((controller.signal.reason as ServiceError | undefined)?.code, reason && refusalFor(reason).code, name)
  }
}

function storesOf({ database, vault, clock }: TestService) {
  return createStores({ database, vault, clock: clock.now })
}

interface Said {
  expected: unknown
  actual: unknown
}

/** What the rule says, and what is said where it is repeated. The last ones count calls. */
function formsIn(service: TestService): Record<string, (one: GrantInState) => Promise<Said>> {
  const { database } = service
  const { queries } = database
  const { grants, standings, agents } = storesOf(service)
  const freshToken = freshTokenOf(service)
  const codeOf = (reason: Unusable | undefined) => reason && refusalFor(reason).code
  return {
    'what is read of it': async ({ agentId, grantId, tokenHash, state }) => {
      const standing = await standings.find(queries, agentId, grantId)
      assert.ok(standing)
      const isTokenCurrent = (await agents.findCurrent(queries, [tokenHash])).size === 1
      const actual = whyUnusable({ ...standing, isTokenCurrent }, now)
      return { expected: whyUnusable(state, now), actual }
    },

    'a list of one status': async ({ agentId, userId, grantId, state }) => {
      const actual = []
      for (const status of statuses) {
        const ofAgent = await grants.listOfAgent(queries, agentId, { ...page, status }, now)
        const ofUser = userId !== null ? await grants.listOfUser(queries, userId, { ...page, status }, now) : ofAgent
        const has = [ofAgent, ofUser].map(({ records }) => records.some((one) => one.grantId === grantId))
        actual.push([status, ...has])
      }
      const is = statusOf(state.grant, now)
      return { expected: statuses.map((status) => [status, status === is, status === is]), actual }
    },

    'a list that has active ones first': async ({ agentId, grantId, expiredId, state }) => {
      const { records } = await grants.listOfAgent(queries, agentId, { ...page, status: undefined }, now)
      const isActive = statusOf(state.grant, now) === 'active'
      return {
        expected: isActive ? [grantId, expiredId] : [expiredId, grantId],
        actual: records.map((one) => one.grantId),
      }
    },

    'a token for it': async ({ name, connectionId, state }) => {
      // There is nothing to renew it with.
      if (connectionId === null || name.includes('access token expired')) return { expected: 0, actual: 0 }
      const grant = { ...state.grant, revokedAt: null, isPaused: false, expiresAt: null, maxCalls: null }
      const reason = whyUnusable({ ...state, grant, isTokenCurrent: true }, now)
      return { expected: codeOf(reason), actual: await codeThrownBy(freshToken(connectionId)) }
    },

    'a call, whatever else is wrong with it': async ({ grantId, token, state }) => {
      const body = { grant_id: grantId, method: 'GET', url: 'https://evil.example/' }
      const reply = await service.call('POST', '/v4/proxy', { token, body })
      return {
        expected: codeOf(whyUnusable(state, now)) ?? 'host_not_allowed',
        actual: reply.body.error.code as unknown,
      }
    },

    'a call that is counted': async ({ grantId, state, isAgentDisabled }) => {
      // The token is looked at beside it.
      const reason = whyUnusable({ ...state, isTokenCurrent: !isAgentDisabled }, now)
      const [actual] = await database.transaction((tx) => grants.countCalls(tx, [{ grantId, termsVersion: 1 }], now))
      return { expected: reason === undefined, actual }
    },
  }
}

async function codeThrownBy(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return (error as ServiceError).code
  }
}
