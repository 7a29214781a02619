/** An agent whose requests are not pushed to a user's devices: for a day after a denial, or permanently. */
export interface MutedAgent {
  agentId: string
  name: string
  mutedAt: Date
  /** Null if permanent. */
  mutedUntil: Date | null
}

export const muteMs = 86_400_000
