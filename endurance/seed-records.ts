/**
 * Fills a database with an audit log of any length, like that of a service in use: a user with thousands of agents,
 * an agent with thousands of users, calls with their outcomes, refusals, and everything that the sweep removes. Records
 * go through the audit store, so that `audit verify` finds nothing wrong with them.
 */
import { randomBytes } from 'node:crypto'
import { agentOf, connectionOf, grantOn, openForSeeding, providerAt } from '../bench/seed.ts'
import type { SeededAgent, Seeding } from '../bench/seed.ts'
import type { AuditRecord } from '../server/src/audit/audit-record.ts'
import { newId } from '../server/src/platform/ids.ts'
import { Secret } from '../server/src/platform/secret.ts'
import { createStores } from '../server/src/stores.ts'

export interface RecordSeed {
  records: number
  /** The number of agents of one user, and of users of one agent. */
  parties: number
  /** The provider's API host: `localhost:1234`. */
  host: string
}

export interface SeededRecords {
  /** Has granted access to all agents. */
  userId: string
  /** Has grants of all users. */
  agent: SeededAgent
  /** The agents that make calls meanwhile. */
  agents: SeededAgent[]
  grantId: string
  connectionId: string
  agentId: string
}

interface Between {
  agentId: string
  userId: string
  grantId: string
  connectionId: string
}

const days = 120
const dayMs = 86_400_000
/** Each process start begins a new audit chain. */
const starts = 30
const perCommit = 500

export async function seedRecords(
  env: NodeJS.ProcessEnv,
  { records, parties, host }: RecordSeed,
  say: (progress: string) => void,
): Promise<SeededRecords> {
  const seeding = await openForSeeding(env)
  const { database, stores } = seeding
  const provider = providerAt([host])
  await stores.providers.insert(database.queries, provider, new Secret('a secret of the client'))
  const people: Between[] = []
  const agents: SeededAgent[] = []
  const now = new Date()
  const { userId, connectionId } = await insertPerson(seeding, provider, now)
  const busy = agentOf(now)
  await database.transaction((tx) => stores.agents.insert(tx, busy.agent, busy.tokenHash))
  let busyGrant = ''
  for (let done = 0; done < parties; done += perCommit) {
    const made: [SeededAgent, Between, Between][] = []
    await database.transaction(async (tx) => {
      made.length = 0
      for (let index = done; index < Math.min(parties, done + perCommit); index++) {
        const { agent, token, tokenHash } = agentOf(now)
        await stores.agents.insert(tx, agent, tokenHash)
        const grant = grantOn({ connectionId, userId }, agent.agentId, provider.apiHosts, now)
        await stores.grants.insert(tx, grant, null)
        const other = await insertOther(seeding, tx, provider, busy.agent.agentId, now)
        const own = { agentId: agent.agentId, userId, grantId: grant.grantId, connectionId }
        made.push([{ token, grantId: grant.grantId }, own, other])
      }
    })
    for (const [agent, own, other] of made) {
      agents.push(agent)
      people.push(own, other)
      busyGrant = other.grantId
    }
  }
  say(`${parties} agents and ${parties} people`)
  await seedEnded(seeding, userId, people, now)
  await seedAudit(seeding, records, people, host, say)
  await database.close()
  const first = people[0]
  if (!first) throw new Error('no agents were seeded')
  return { ...first, userId, agents, agent: { token: busy.token, grantId: busyGrant } }
}

type Queries = Parameters<Parameters<Seeding['database']['transaction']>[0]>[0]
type Provider = ReturnType<typeof providerAt>

async function insertPerson({ database, stores }: Seeding, provider: Provider, now: Date) {
  const userId = newId('usr', now)
  const connection = connectionOf(userId, provider, now)
  const user = { userId, handle: null, name: null, email: null, createdAt: now }
  await database.transaction(async (tx) => {
    await stores.users.insert(tx, { ...user, disabledAt: null, requiresDevice: false })
    await stores.connections.insert(tx, connection, tokens(now))
  })
  return { userId, connectionId: connection.connectionId }
}

async function insertOther({ stores }: Seeding, tx: Queries, provider: Provider, agentId: string, now: Date) {
  const userId = newId('usr', now)
  const connection = connectionOf(userId, provider, now)
  const user = { userId, handle: null, name: null, email: null, createdAt: now }
  await stores.users.insert(tx, { ...user, disabledAt: null, requiresDevice: false })
  await stores.connections.insert(tx, connection, tokens(now))
  const grant = grantOn(connection, agentId, provider.apiHosts, now)
  await stores.grants.insert(tx, grant, null)
  return { agentId, userId, grantId: grant.grantId, connectionId: connection.connectionId }
}

function tokens(now: Date) {
  return {
    accessToken: new Secret(`gho_${randomBytes(27).toString('base64url')}`),
    refreshToken: new Secret(`ghr_${randomBytes(27).toString('base64url')}`),
    expiresAt: new Date(now.getTime() + 86_400_000),
    obtainedAt: now,
  }
}

/** Rows that the sweep deletes, and lists with mostly ended rows. */
async function seedEnded(
  { database, stores }: Seeding,
  userId: string,
  people: readonly Between[],
  now: Date,
): Promise<void> {
  const ended = new Date(now.getTime() - 60 * dayMs)
  for (let done = 0; done < people.length; done += perCommit) {
    await database.transaction(async (tx) => {
      const limits = people
        .slice(done, done + perCommit)
        .map((_, index) => ({ key: `old ${done + index}`, full_at: 1 }))
      await tx.insertInto('rate_limits').values(limits).execute()
      for (const { agentId } of people.slice(done, done + perCommit)) {
        const times = { createdAt: ended, lastSeenAt: ended, expiresAt: ended }
        const session = { sessionId: newId('ses', ended), userId, ...times, revokedAt: null, isOperator: false }
        await stores.sessions.insert(tx, session, randomBytes(32))
        const token = { tokenHash: randomBytes(32), userId, createdAt: ended, expiresAt: ended, isOperator: false }
        await stores.loginTokens.insert(tx, token)
        await stores.accessRequests.insert(tx, {
          accessRequestId: newId('req', ended),
          agentId,
          providerId: null,
          userHint: null,
          userId,
          hosts: null,
          methods: null,
          paths: null,
          maxCalls: null,
          reason: 'to read the calendar',
          status: 'pending',
          createdAt: ended,
          expiresAt: ended,
          decidedAt: null,
          decidedBy: null,
          decidedOn: null,
          denialReason: null,
          grantId: null,
        })
      }
    })
  }
}

async function seedAudit(
  { database, vault }: Seeding,
  records: number,
  people: readonly Between[],
  host: string,
  say: (progress: string) => void,
): Promise<void> {
  const from = Date.now() - days * dayMs
  let at = from
  const { audit } = createStores({ database, vault, clock: () => new Date(at) })
  let log = audit
  let done = 0
  for (let start = 0; start < starts; start++) {
    const last = Math.round((records * (start + 1)) / starts)
    while (done < last) {
      at = from + Math.floor((done * days * dayMs) / records)
      const some = recordsOf(people, host, done, Math.min(perCommit, last - done), new Date(at))
      await database.transaction((tx) => {
        log.appendAll(tx, some)
        return Promise.resolve()
      })
      await log.signHeads()
      if (Math.floor(done / 100_000) < Math.floor((done + some.length) / 100_000)) say(`${done} of ${records} records`)
      done += some.length
    }
    log = createStores({ database, vault, clock: () => new Date(at) }).audit
  }
}

/** Twenty records are nine calls with their outcomes, a refusal with a grant, and sometimes one without. */
function recordsOf(people: readonly Between[], host: string, from: number, count: number, at: Date): AuditRecord[] {
  const made: AuditRecord[] = []
  for (let index = from; made.length < count; index++) {
    // Spread out, so that each page of a list has many agents.
    const party = people[(index * 7919) % people.length]
    if (!party) throw new Error('no agents were seeded')
    const facts = { method: 'GET', host, path: `/repos/acme/rocket/issues/${index}`, query: [], bytes: 0 }
    const common = { at, requestId: newId('req', at), provider: 'acme', ...party }
    if (index % 20 === 19) {
      made.push({
        ...common,
        event: 'proxy.refused',
        outcome: 'refused',
        detail: { ...facts, code: 'host_not_allowed' },
      })
    } else if (index % 20 === 9) {
      const { agentId } = party
      made.push({
        at,
        event: 'proxy.refused',
        isKeptBriefly: true,
        agentId,
        outcome: 'refused',
        detail: { ...facts, code: 'grant_not_found' },
      })
    } else {
      const auditId = newId('aud', at)
      made.push({ ...common, auditId, event: 'proxy.attempt', detail: facts })
      made.push({
        ...common,
        auditId,
        event: 'proxy.outcome',
        outcome: 'answered',
        detail: { status: 200, bytes: 812 },
      })
    }
  }
  return made.slice(0, count)
}
