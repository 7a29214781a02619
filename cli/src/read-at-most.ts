interface Read {
  bytes: Buffer
  isCut: boolean
  /** The response broke off: the upstream disconnected, or it timed out. */
  isBroken: boolean
}

/** Reads the beginning of a response, and whether there is more. */
export async function readAtMost({ body }: Response, most: number, signal: AbortSignal): Promise<Read> {
  const chunks: Uint8Array[] = []
  let size = 0
  let isBroken = false
  if (!body) return { bytes: Buffer.alloc(0), isCut: false, isBroken }
  // Leaving the loop cancels the call.
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
