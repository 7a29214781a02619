/** Decided access requests, written to the store directly, and the delivery of their callbacks. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { createStores } from '../src/stores.ts'
import { mintCallbackSecret } from '../src/callbacks/callback.ts'
import type { CallbackPayload, CallbackState } from '../src/callbacks/callback.ts'
import { createCallbackStore } from '../src/callbacks/callback-store.ts'
import type { CallbackStore } from '../src/callbacks/callback-store.ts'
import { createDeliverCallbacks } from '../src/callbacks/deliver-callbacks.ts'
import type { Engine } from '../src/platform/database/database.ts'
import type { Egress } from '../src/platform/egress/egress.ts'
import { newId } from '../src/platform/ids.ts'
import { createLog } from '../src/platform/operations/log.ts'
import type { Outbox } from '../src/platform/outbox.ts'
import type { Secret } from '../src/platform/secret.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import type { CallbackReceiver, Received } from './callback-receiver.ts'
import { acme, client } from './providers.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export interface Asked {
  accessRequestId: string
  agentId: string
  secret: Secret
  payload: CallbackPayload
}

export interface CallbackTest extends TestService {
  callbacks: CallbackStore
  agentId: string
  providerId: string
  /** A pending request with a callback. */
  ask: (url: URL, agentId?: string) => Promise<Asked>
  approve: (asked: Asked) => Promise<void>
  /** Both. */
  decided: (url: URL, agentId?: string) => Promise<Asked>
  state: (asked: Asked) => Promise<CallbackState | undefined>
  deliverer: (options?: { patienceMs?: number; egress?: Egress }) => Outbox
}

export async function startCallbackTest(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  receivers: CallbackReceiver[],
  settings: Environment = {},
): Promise<CallbackTest> {
  const [first] = receivers
  const service = await startService(t, engine, {
    ...(first && {
      SALLYPORT_EGRESS_ALLOW: receivers.map(({ host }) => host).join(),
      SALLYPORT_EGRESS_CA_FILE: first.caFile,
    }),
    ...settings,
  })
  const { database, vault, clock, egress, log } = service
  const { agentId } = await service.registerAgent()
  const body = { ...acme, ...client, slug: `acme-${agentId.slice(-6)}` }
  const { body: provider } = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
  const providerId = String(provider.provider_id)
  const callbacks = createCallbackStore(vault)
  const { audit } = createStores({ database, vault, clock: clock.now })

  const ask: CallbackTest['ask'] = async (url, asking = agentId) => {
    const now = clock.now()
    const accessRequestId = newId('arq', now)
    const secret = mintCallbackSecret()
    await database.transaction(async (tx) => {
      await sql`insert into access_requests (access_request_id, agent_id, provider_id, status, created_at, expires_at)
        values (${accessRequestId}, ${asking}, ${providerId}, 'pending', ${now.getTime()}, ${now.getTime() + 86_400_000})
      `.execute(tx)
      await callbacks.insert(tx, { accessRequestId, agentId: asking, url, secret, isSandbox: false, now })
    })
    const payload = approvalOf(accessRequestId, asking, newId('grt', now))
    return { accessRequestId, agentId: asking, secret, payload }
  }
  const approve: CallbackTest['approve'] = ({ accessRequestId, payload }) =>
    database.transaction((tx) => callbacks.release(tx, accessRequestId, payload, clock.now()))

  return {
    ...service,
    callbacks,
    agentId,
    providerId,
    ask,
    approve,
    decided: async (url, asking) => {
      const asked = await ask(url, asking)
      await approve(asked)
      return asked
    },
    state: ({ accessRequestId }) => callbacks.stateOf(database.queries, accessRequestId),
    deliverer: ({ patienceMs, egress: other = egress } = {}) => {
      const writing = createLog({ logLevel: 'debug', logFormat: 'json' }, { write: (line) => log.push(line) })
      const needs = { database, egress: other, callbacks, audit, clock: clock.now, log: writing }
      return createDeliverCallbacks(needs, patienceMs)
    },
  }
}

function approvalOf(accessRequestId: string, agentId: string, grantId: string): CallbackPayload {
  return {
    event: 'access_request.approved',
    access_request_id: accessRequestId,
    status: 'approved',
    grant_id: grantId,
    provider: 'acme',
    agent_id: agentId,
  }
}

/** Verifies like a receiver at that time, with the package of Standard Webhooks. Throws if invalid. */
export function verified(secret: Secret, { headers, body }: Pick<Received, 'headers' | 'body'>, now: Date): unknown {
  // The package uses the system clock, with five minutes of tolerance.
  mock.timers.enable({ apis: ['Date'], now })
  try {
    return new Webhook(secret.reveal()).verify(body, headers)
  } finally {
    mock.timers.reset()
  }
}

export function only<T>(list: readonly T[]): T {
  const [one, ...others] = list
  assert.ok(one !== undefined && others.length === 0, `${list.length} instead of one`)
  return one
}
