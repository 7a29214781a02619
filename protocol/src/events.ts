import { Type, type Static } from 'typebox'

/** What can have changed. Each names a list of the caller's own that is worth reading again. */
export const eventTopics = [
  'access_requests',
  'grants',
  'connections',
  'devices',
  'sessions',
  'muted_agents',
  'providers',
  'me',
  'activity',
] as const
export type EventTopic = (typeof eventTopics)[number]

/** `ready`: from now on every change is told. Read everything once; what changed before was not told. */
export const eventNames = ['ready', 'changed', 'ended'] as const
export type EventName = (typeof eventNames)[number]

/** The data of `changed`. */
export const ChangedEvent = Type.Object({ topics: Type.Array(Type.Enum(eventTopics)) })
export type ChangedEvent = Static<typeof ChangedEvent>

export const endReasons = ['session_over', 'stopping'] as const

/** The data of `ended`, the last event: sign in again after session_over, connect again after stopping. */
export const EndedEvent = Type.Object({ reason: Type.Enum(endReasons) })
export type EndedEvent = Static<typeof EndedEvent>
