import type { ServerHttp2Stream } from 'node:http2'

/** Closes a stream whose client does not read its response, which takes up memory. For HTTP/1.1 see closing-connections.ts. */
export function closeUnreadStreams(stream: ServerHttp2Stream, lookMs: number): void {
  // It starts again with every byte. While the service works on a request, it passes without effect.
  stream.setTimeout(lookMs)
  stream.on('timeout', () => {
    if (stream.writableLength > 0 || stream.writableNeedDrain) stream.destroy()
    else stream.setTimeout(lookMs)
  })
}
