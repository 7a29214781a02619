/** An agent whose questions are not pushed to a user's devices: for a day after a denial, or for good. */
export interface MutedAgent {
  agentId: string
  name: string
  mutedAt: Date
  /** null: for good. */
  mutedUntil: Date | null
}

export const muteMs = 86_400_000
