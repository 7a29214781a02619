import { SallyportError } from './errors.ts'

/** Limits the size: a man in the middle could send an endless response. */
export async function readBounded({ status, body }: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const reader = (body as ReadableStream<Uint8Array> | null)?.getReader()
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    bytes += part.value.length
    if (bytes > maxBytes) {
      await reader?.cancel()
      throw new SallyportError('unexpected_answer', 'The response is too large.', { status })
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return text + decoder.decode()
}
