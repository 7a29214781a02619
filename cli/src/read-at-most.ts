interface Read {
  bytes: Buffer
  isCut: boolean
  /** It ended before its end: the upstream hung up, or its time was over. */
  isBroken: boolean
}

/** The beginning of an answer, and whether there was more. */
export async function readAtMost({ body }: Response, most: number, signal: AbortSignal): Promise<Read> {
  const chunks: Uint8Array[] = []
  let size = 0
  let isBroken = false
  if (!body) return { bytes: Buffer.alloc(0), isCut: false, isBroken }
  // Leaving the loop ends the call.
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > most) break
    }
  } catch (error) {
    if (signal.aborted) throw error
    isBroken = true
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), isCut: size > most, isBroken }
}
