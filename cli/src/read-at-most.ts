/** The beginning of an answer, and whether there was more. */
export async function readAtMost({ body }: Response, most: number): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (!body) return { bytes: Buffer.alloc(0), isCut: false }
  // Leaving the loop ends the call.
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > most) break
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), isCut: size > most }
}
