/** An approval that covers further calls like the one that was approved, for a while. */
export interface Repeat {
  repeatId: string
  agentId: string
  userId: string
  grantId: string
  /** The call that was approved. */
  callId: string
  shown: RepeatedCall
  callsLeft: number
  createdAt: Date
  expiresAt: Date
}

/** Sealed: the scope may quote the body. */
export interface RepeatedCall {
  method: string
  /** Without its query. */
  url: string
  scope: string
}
