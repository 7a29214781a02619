/** The bytes of a connection as binary messages of a WebSocket, with backpressure both ways. Message boundaries mean nothing. */
import { Duplex } from 'node:stream'
import { BrokenRule, closeMessage, createMessageReader, frameOf } from './websocket-messages.ts'
import type { Message } from './websocket-messages.ts'

/** Far below what proxies between the two ends allow. */
const maxMessageBytes = 65_536
/** How long the other end may take to close after this one has. */
const lingerMs = 5000

/** `socket` is the connection after the handshake. The end of either stream is the end of both. */
export function byteStreamOver(socket: Duplex, { isClient }: { isClient: boolean }): Duplex {
  const read = createMessageReader({ isFromClient: !isClient, maxMessageBytes: 1_048_576 })
  const frame = (message: Message) => frameOf(message, { isFromClient: isClient })
  let hasSentClose = false
  const close = (code: number) => {
    if (hasSentClose || socket.destroyed) return
    hasSentClose = true
    socket.end(frame(closeMessage(code, '')))
    // Nothing is taken any more, but the other end's close has to be seen.
    socket.resume()
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }
  const send = (message: Message, done: () => void) => {
    if (socket.destroyed || hasSentClose || socket.write(frame(message))) {
      done()
      return
    }
    const go = () => {
      socket.off('drain', go).off('close', go)
      done()
    }
    socket.on('drain', go).on('close', go)
  }
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      const next = (from: number) => {
        const data = chunk.subarray(from, from + maxMessageBytes)
        send({ kind: 'binary', data }, () => {
          if (from + data.length < chunk.length) next(from + data.length)
          else done()
        })
      }
      next(0)
    },
    final: (done) => {
      close(1000)
      done()
    },
    destroy: (error, done) => {
      close(1000)
      done(error)
    },
  })
  const take = ({ kind, data }: Message) => {
    if (kind === 'binary' && !stream.push(data)) socket.pause()
    if (kind === 'ping') send({ kind: 'pong', data }, () => undefined)
    if (kind === 'close') stream.push(null)
    if (kind === 'text') throw new BrokenRule(1002, 'A message is not binary.')
    if (kind === 'close') close(1000)
  }
  socket.on('data', (chunk: Buffer) => {
    if (stream.destroyed || hasSentClose) return
    try {
      for (const message of read(chunk)) take(message)
    } catch (error) {
      close(error instanceof BrokenRule ? error.code : 1011)
      stream.destroy(error as Error)
    }
  })
  socket.on('error', () => undefined)
  socket.on('close', () => stream.destroy())
  return stream
}
