import { Pause as PauseView } from '@sallyport/protocol/pauses'
import { NoBody } from '@sallyport/protocol/schema'
import type { FastifyRequest } from 'fastify'
import type { AuditWriter } from '../audit/audit-log.ts'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Http } from '../platform/http/http.ts'
import type { Paused, PauseStore } from './pause-store.ts'

interface PauseNeeds {
  database: Database
  pauses: PauseStore
  audit: AuditWriter
  clock: Clock
}

const tags = ['Grants']
const allow = ['user', 'admin'] as const

/** A person pauses and resumes the agents that have their grants, an admin all agents. */
export function pauseRoutes(http: Http, needs: PauseNeeds): void {
  const { database, pauses } = needs

  const view = async (paused: Paused): Promise<PauseView> => {
    const [own, ofService] = [await pauses.find(database.queries, paused), await pauses.find(database.queries, null)]
    return { paused_at: own?.toISOString() ?? null, service_paused_at: ofService?.toISOString() ?? null }
  }

  http.get(
    '/v4/pause',
    {
      config: { allow },
      schema: { tags, summary: 'Read whether agents are paused', response: { 200: PauseView } },
    },
    (request) => view(pausedBy(request)),
  )

  http.put(
    '/v4/pause',
    {
      config: { allow, worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Pause all agents: calls in progress end within a second, and none begins',
        body: NoBody,
        response: { 200: PauseView },
      },
    },
    async (request) => {
      await pause(onBehalfOf(request, needs), pausedBy(request), request.id)
      return view(pausedBy(request))
    },
  )

  http.delete(
    '/v4/pause',
    {
      config: { allow },
      schema: { tags, summary: 'Resume all agents', response: { 200: PauseView } },
    },
    async (request) => {
      await resume(onBehalfOf(request, needs), pausedBy(request), request.id)
      return view(pausedBy(request))
    },
  )
}

function pausedBy(request: FastifyRequest): Paused {
  return request.actor?.kind === 'admin' ? null : actingUser(request).user.userId
}

/** Idempotent. Also of what was approved and is not sent yet. */
async function pause({ database, pauses, audit, clock }: PauseNeeds, paused: Paused, requestId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const at = clock()
    if (!(await pauses.insert(tx, paused, at))) return
    const ofWhom =
      paused === null ? { event: 'service.paused' as const } : { event: 'agents.paused' as const, userId: paused }
    await audit.append(tx, { ...ofWhom, at, requestId })
  })
}

async function resume(
  { database, pauses, audit, clock }: PauseNeeds,
  paused: Paused,
  requestId: string,
): Promise<void> {
  await database.transaction(async (tx) => {
    if (!(await pauses.delete(tx, paused))) return
    const ofWhom =
      paused === null ? { event: 'service.resumed' as const } : { event: 'agents.resumed' as const, userId: paused }
    await audit.append(tx, { ...ofWhom, at: clock(), requestId })
  })
}
