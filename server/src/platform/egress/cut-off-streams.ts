/**
 * Reports an HTTP/2 stream that is reset before its end as an error. Node treats resets with NO_ERROR and CANCEL as a
 * normal end, and proxies send both when their own upstream fails: a partial response would look complete. A normal end is
 * read before the stream is closed, while a reset closes it first.
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
      // Not while Node is closing the stream.
      process.nextTick(() => stream.destroy(error))
      return false
    }
    hasEnded ||= chunk === null
    return push(chunk, encoding)
  }
})
