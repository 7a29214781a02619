/**
 * The event streams of this process. A client is told which of its lists changed, never the data. Commits of this
 * process are sent immediately. Those of other instances are read from the shared audit log, with one query for all
 * clients. Each check also ends the streams of sessions that are no longer valid. Listening does not count as use of a
 * session and does not extend it.
 */
import type { AuditEvent } from '@sallyport/protocol/audit'
import { eventTopics } from '@sallyport/protocol/events'
import type { EndedEvent, EventTopic } from '@sallyport/protocol/events'
import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditTailStore } from '../audit/audit-tail-store.ts'
import { createRecordFollower } from '../audit/follow-record.ts'
import type { Device } from '../devices/device.ts'
import type { DeviceStore } from '../devices/device-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/operations/log.ts'
import { sessionEnds } from '../sessions/session.ts'
import type { Session } from '../sessions/session.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { User } from '../sessions/user.ts'
import { createEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { deviceTopics, endsSessions, topicsForAll, topicsForUser } from './topics.ts'

export interface ListenerNeeds {
  config: Pick<Config, 'sessionIdleSeconds'>
  database: Database
  audit: Pick<AuditLog, 'onCommit'>
  auditTail: AuditTailStore
  sessions: SessionStore
  devices: DeviceStore
  clock: Clock
  log: Log
}

/** A user's session or device. */
export interface Person {
  user: User
  session?: Session
  device?: Device
}

export interface Listeners {
  listen: (person: Person) => Promise<EventStream>
  /** Sends changes of other instances and ends streams of invalid sessions. Runs no queries without listeners. */
  check: () => Promise<void>
  /** Ends all streams and accepts no new ones. */
  stop: () => void
}

interface Listener {
  userId: string
  /** Id of the session or device. */
  id: string
  mayHear: (topic: EventTopic) => boolean
  stream: EventStream
  /** Time of the last keepalive. */
  beatenAt: number
}

const mostOfUser = 12
const mostInAll = 1_000
const beatMs = 15_000
/** Batch size, as the number of query parameters is limited. */
const atOnce = 500

export function createListeners(needs: ListenerNeeds): Listeners {
  const { config, database, audit, sessions, devices, clock, log } = needs
  const follower = createRecordFollower(needs)
  const listeners = new Map<string, Set<Listener>>()
  /** Audit chains whose commits are sent as they happen. */
  const ownChains = new Set<string>()
  let following: Promise<void> | undefined
  let isChecking = false
  let isStopping = false

  const all = () => [...listeners.values()].flatMap((ofUser) => [...ofUser])
  const tell = (to: Iterable<Listener>, topics: readonly EventTopic[]) => {
    for (const { stream, mayHear } of to) stream.tell(topics.filter(mayHear))
  }
  const tellOf = (event: AuditEvent, userId: string | null) => {
    if (userId !== null) tell(listeners.get(userId) ?? [], topicsForUser(event))
    const forAll = topicsForAll(event)
    if (forAll.length > 0) tell(all(), forAll)
  }
  const remove = (listener: Listener) => {
    const ofUser = listeners.get(listener.userId)
    if (!ofUser?.delete(listener) || ofUser.size > 0) return
    listeners.delete(listener.userId)
    // Stop following while there are no listeners: the next one starts from the current record.
    if (listeners.size === 0) following = undefined
  }
  const end = (listener: Listener, reason: EndedEvent['reason']) => {
    remove(listener)
    listener.stream.end(reason)
  }

  const turnAway = async () => {
    const ends = sessionEnds(config.sessionIdleSeconds, clock())
    const present = all()
    const live = new Set<string>()
    for (let from = 0; from < present.length; from += atOnce) {
      const ids = present.slice(from, from + atOnce).map(({ id }) => id)
      for (const id of await sessions.listLive(database.queries, ids, ends)) live.add(id)
      for (const id of await devices.listLive(database.queries, ids)) live.add(id)
    }
    for (const listener of present) if (!live.has(listener.id)) end(listener, 'session_over')
  }
  const tellOfOthers = async () => {
    const came = await follower.next()
    if (came === 'too_much') {
      tell(all(), eventTopics)
      return
    }
    for (const { event, userId, chain } of came) {
      if (chain === null || !ownChains.has(chain)) tellOf(event, userId)
    }
  }
  const beat = () => {
    const now = clock().getTime()
    for (const listener of all()) {
      if (now - listener.beatenAt < beatMs) continue
      listener.beatenAt = now
      listener.stream.beat()
    }
  }
  const check = async () => {
    if (isChecking || listeners.size === 0) return
    isChecking = true
    try {
      await turnAway()
      await following
      if (listeners.size > 0) await tellOfOthers()
      beat()
    } finally {
      isChecking = false
    }
  }

  audit.onCommit(({ chains, records, isCertain }) => {
    // If it is uncertain whether the commit succeeded, the records are sent when they are found in the log.
    for (const chain of chains) {
      if (isCertain) ownChains.add(chain)
      else ownChains.delete(chain)
    }
    if (listeners.size === 0) return
    for (const { event, user_id: userId } of records) tellOf(event as AuditEvent, userId)
    if (!records.some(({ event }) => endsSessions.has(event as AuditEvent))) return
    check().catch((error: unknown) => {
      log.error({ err: error }, 'checking event listeners failed')
    })
  })

  return {
    listen: async ({ user: { userId }, session, device }) => {
      if (isStopping) throw new ServiceError('not_ready', { message: 'The service is stopping.' })
      const ofUser = listeners.get(userId) ?? new Set()
      if (ofUser.size >= mostOfUser || all().length >= mostInAll) throw tooMany(ofUser.size >= mostOfUser)
      const stream = createEventStream()
      const listener: Listener = {
        userId,
        id: session?.sessionId ?? device?.deviceId ?? '',
        mayHear: (topic) => session !== undefined || deviceTopics.has(topic),
        stream,
        beatenAt: clock().getTime(),
      }
      listeners.set(userId, ofUser.add(listener))
      stream.readable.on('close', () => {
        remove(listener)
      })
      try {
        await (following ??= follower.start())
      } catch (error) {
        remove(listener)
        following = undefined
        throw error
      }
      stream.ready()
      return stream
    },
    check,
    stop: () => {
      isStopping = true
      for (const listener of all()) end(listener, 'stopping')
    },
  }
}

function tooMany(isOfUser: boolean): ServiceError {
  const message = isOfUser
    ? `You already have ${mostOfUser} event streams open. Close some of them.`
    : 'Too many event streams are open on this instance. Poll instead, and try again later.'
  return new ServiceError('too_many_streams', { message, retryAfterSeconds: 30 })
}
