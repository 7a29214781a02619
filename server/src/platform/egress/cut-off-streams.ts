/**
 * An HTTP/2 stream that is reset before its end is cut off, whatever the reset says. Node takes the codes NO_ERROR and
 * CANCEL for an end like any other, and proxies send both when their own upstream breaks: half an answer would look
 * whole. A proper end is read before the stream is closed, a reset closes it first.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ClientHttp2Stream } from 'node:http2'

subscribe('http2.client.stream.created', (message) => {
  const { stream } = message as { stream: ClientHttp2Stream }
  const push = stream.push.bind(stream)
  let hasEnded = false
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null && !hasEnded && stream.closed) {
      const error = Object.assign(new Error('The stream was reset'), { code: 'ERR_HTTP2_STREAM_ERROR' })
      // Not within Node's own closing.
      process.nextTick(() => stream.destroy(error))
      return false
    }
    hasEnded ||= chunk === null
    return push(chunk, encoding)
  }
})
