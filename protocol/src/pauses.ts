import { Type, type Static } from 'typebox'
import { Nullable, Timestamp } from './schema.ts'

export const Pause = Type.Object({
  paused_at: Nullable(Timestamp, {
    description:
      "Since when this person's agents are paused; for an admin, since when all agents are. Null if they aren't",
  }),
  service_paused_at: Nullable(Timestamp, {
    description: 'Since when the operator has paused all agents of the service. Null if they have not',
  }),
})
export type Pause = Static<typeof Pause>
