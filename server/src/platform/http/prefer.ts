/** RFC 7240: a client may ask that the answer be held back until there is one. */
import type { FastifyReply, FastifyRequest } from 'fastify'

const maxSeconds = 300

/** The seconds of `Prefer: wait=N`, at most 300. Undefined without one; what is malformed is ignored. */
export function preferredWait({ headers }: Pick<FastifyRequest, 'headers'>): number | undefined {
  for (const preference of [headers['prefer']].flat().join(',').split(',')) {
    const [, digits] = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    const seconds = Number(digits ?? 0)
    if (seconds > 0) return Math.min(seconds, maxSeconds)
  }
  return undefined
}

/** Says for how long the answer was held back at most. */
export function applyWait(reply: FastifyReply, seconds: number): void {
  reply.header('preference-applied', `wait=${seconds}`)
}

/** Made once: an `AbortError` of its own for each request costs more than all else here. */
const clientGone = new Error('the client has closed its connection')

/** Aborts when the client closes its connection before it has the whole answer. */
export function whenGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const look = () => {
    if (!raw.writableFinished) gone.abort(clientGone)
  }
  if (raw.closed) look()
  else raw.once('close', look)
  return gone.signal
}
