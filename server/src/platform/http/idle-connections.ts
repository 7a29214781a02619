/**
 * Closes idle connections: soon if the client does not read its response, which takes up memory, and later if the service
 * is still working on the request.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { LimitedPipelining } from './pipelining.ts'

type IdleConfig = Pick<PlatformConfig, 'connectionIdleSeconds' | 'unreadAnswerSeconds'>

export function closeIdleConnections(
  server: Server,
  config: IdleConfig,
  answerOn: LimitedPipelining['answerOn'],
): void {
  const idleMs = config.connectionIdleSeconds * 1000
  const lookMs = Math.min(idleMs, config.unreadAnswerSeconds * 1000)
  /** Consecutive timeouts of a connection, and its byte count at that time. */
  const seen = new WeakMap<Socket, { bytes: number; times: number }>()
  server.setTimeout(lookMs)
  server.on('timeout', (socket: Socket) => {
    const answer = answerOn(socket)
    const bytes = socket.bytesRead + socket.bytesWritten
    const last = seen.get(socket)
    const times = last && last.bytes === bytes ? last.times + 1 : 1
    if (!answer || isUnsent(answer) || times * lookMs >= idleMs) {
      socket.destroy()
      return
    }
    seen.set(socket, { bytes, times })
    socket.setTimeout(lookMs)
  })
}

function isUnsent(answer: ServerResponse): boolean {
  const { writableLength, writableNeedDrain, writableEnded, writableFinished } = answer
  return writableLength > 0 || writableNeedDrain || (writableEnded && !writableFinished)
}
