/** An open tunnel: its requests in flight, and how it ends. */
import { constants } from 'node:http2'
import type { ServerHttp2Session } from 'node:http2'
import type { ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { onceClosed } from '../streamed-replies.ts'
import type { InnerServers } from './tunnel-servers.ts'
import { maxResets } from './tunnel-servers.ts'

export interface Tunnel {
  /** What requests refer to: the socket of HTTP/1.1, the session of HTTP/2. */
  connection: object
  /** Counts a request as in flight until its response is closed. */
  carries: (response: ServerResponse) => void
  /** Takes no more requests, and closes once those in flight are answered. */
  end: () => void
  /** Closes it now. */
  destroy: () => void
}

const resetsWithinMs = 10_000

/** Hands the connection to the server of the protocol that the client chose. Without a request it is closed after `idleMs`. */
export function openTunnel(servers: InnerServers, socket: TLSSocket, idleMs: number): Tunnel {
  const session = socket.alpnProtocol === 'h2' ? startHttp2(servers, socket) : undefined
  let inFlight = 0
  let isEnding = false
  let idleTimer: NodeJS.Timeout | undefined
  const closeIdle = () => {
    if (session) session.close()
    else socket.destroySoon()
  }
  const end = () => {
    isEnding = true
    clearTimeout(idleTimer)
    // A session announces its end first, and waits for its streams by itself.
    if (inFlight === 0 || session) closeIdle()
  }
  const becomeIdle = () => {
    if (isEnding) closeIdle()
    else idleTimer = setTimeout(end, idleMs).unref()
  }
  becomeIdle()
  socket.on('close', () => {
    clearTimeout(idleTimer)
  })
  // No request is read before the next tick.
  if (!session) servers.http1.emit('connection', socket)
  return {
    connection: session ?? socket,
    carries: (response) => {
      inFlight++
      clearTimeout(idleTimer)
      onceClosed(response, () => {
        if (--inFlight === 0) becomeIdle()
      })
    },
    end,
    destroy: () => {
      socket.destroy()
    },
  }
}

function startHttp2({ http2 }: InnerServers, socket: TLSSocket): ServerHttp2Session {
  const started: ServerHttp2Session[] = []
  const take = (session: ServerHttp2Session) => started.push(session)
  http2.on('session', take)
  // The session is created, and announced, before this returns.
  http2.emit('connection', socket)
  http2.off('session', take)
  const [session] = started
  if (!session) throw new Error('no HTTP/2 session was started')
  endAtTooManyResets(session)
  // The socket may be closed on one side only, but in HTTP/2 a client that closes it is gone (RFC 9113 §5.4.1).
  socket.once('end', () => socket.destroy())
  return session
}

/**
 * A client that opens streams and resets them makes the service work without ever having many open (CVE-2023-44487). Node
 * counts the client's own resets; here those count too that the client makes this side send (CVE-2025-8671).
 */
function endAtTooManyResets(session: ServerHttp2Session): void {
  const resets: number[] = []
  session.on('stream', (stream) => {
    stream.once('close', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) return
      const now = performance.now()
      resets.push(now)
      if (resets.length < maxResets) return
      const oldest = resets.shift() ?? 0
      if (now - oldest >= resetsWithinMs || session.destroyed) return
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      session.destroy()
    })
  })
}
