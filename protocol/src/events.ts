import { Type, type Static } from 'typebox'

/** What can change. Each topic is a list of the caller's that should be reloaded. */
export const eventTopics = [
  'access_requests',
  'calls',
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

/** `ready`: all changes from now on are sent. Reload everything: earlier changes were not sent. */
export const eventNames = ['ready', 'changed', 'ended'] as const
export type EventName = (typeof eventNames)[number]

/** The data of `changed`. */
export const ChangedEvent = Type.Object({ topics: Type.Array(Type.Enum(eventTopics)) })
export type ChangedEvent = Static<typeof ChangedEvent>

export const endReasons = ['session_over', 'stopping'] as const

/** The data of `ended`, the last event. Sign in again after session_over, reconnect after stopping. */
export const EndedEvent = Type.Object({ reason: Type.Enum(endReasons) })
export type EndedEvent = Static<typeof EndedEvent>
