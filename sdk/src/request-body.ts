/** Reads a request body: a short one into memory, so that it can be sent again; a longer one is streamed. */
import { toBase64 } from './agent/base64.ts'

/** A body that is not kept in memory. A Blob can be sent again, a stream can't. */
export type Upload = Blob | ReadableStream<Uint8Array>

const longestKept = 4 * 1024 * 1024

/** As base64, unless it is long. */
export async function readBody(
  stream: ReadableStream<Uint8Array>,
  given: unknown,
  signal: AbortSignal | undefined,
): Promise<string | Upload> {
  if (given instanceof Blob && given.size > longestKept) {
    void stream.cancel()
    return given
  }
  const reader = stream.getReader()
  const read: Uint8Array[] = []
  let length = 0
  while (length <= longestKept) {
    const { value } = await unlessAborted(reader, signal)
    if (!value) return toBase64(joined(read, length))
    read.push(value)
    length += value.length
  }
  const upload = followedBy(read, reader, signal)
  return canStream() ? upload : new Response(upload).blob()
}

async function unlessAborted(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal | undefined) {
  const onAbort = () => void reader.cancel(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    const result = await reader.read()
    signal?.throwIfAborted()
    return result
  } catch (cause) {
    signal?.throwIfAborted()
    throw new TypeError('The request body could not be read.', { cause })
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** What was read, then what is still to be read. */
export function followedBy(
  read: Uint8Array[],
  rest: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      // Node's `fetch` reads on after an abort.
      signal?.throwIfAborted()
      const value = read.shift() ?? (await rest.read()).value
      if (value) controller.enqueue(value)
      else controller.close()
    },
    cancel: (reason) => rest.cancel(reason),
  })
}

/** Browsers send streams over HTTP/2 alone, or not at all. They then take the stream for text. */
function canStream(): boolean {
  const duplex = { isAsked: false }
  const request = new Request('https://localhost', {
    method: 'POST',
    body: new ReadableStream(),
    get duplex() {
      duplex.isAsked = true
      return 'half'
    },
  } as RequestInit)
  return duplex.isAsked && !request.headers.has('content-type') && !('document' in globalThis)
}
