/** Prints an upstream's response: exact bytes to a file or pipe, escaped text to a terminal. */
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { codeOf } from './config-folder.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure, usageError } from './failures.ts'
import type { Output } from './output.ts'
import { inLine, inLines, safeJson } from './terminal-text.ts'

const mostInMemory = 64 * 1024 * 1024

export interface ShowOptions {
  /** Print status and headers first. */
  include: boolean
  stream: boolean
  file: string | undefined
  isSilent: boolean
}

export async function showAnswer(
  output: Output,
  response: Response,
  { include, stream, file, isSilent }: ShowOptions,
): Promise<void> {
  if (file !== undefined) return toFile(output, response, { file, include, isSilent })
  const { isTerminal } = output
  const head = include ? headOf(response, isTerminal ? inLine : (text) => text) : ''
  if (stream) {
    if (head !== '') await output.bytes(Buffer.from(head))
    const decoder = new TextDecoder()
    for await (const chunk of chunksOf(response)) {
      await output.bytes(isTerminal ? Buffer.from(inLines(decoder.decode(chunk, { stream: true }))) : chunk)
    }
    return
  }
  const body = await wholeBody(response)
  if (head !== '') await output.bytes(Buffer.from(head))
  if (!isTerminal) await output.bytes(body)
  else if (body.length > 0) output.text(readable(body, response.headers.get('content-type') ?? 'unknown'))
}

function headOf({ status, statusText, headers }: Response, safe: (text: string) => string): string {
  const lines = [...headers].map(([name, value]) => safe(`${name}: ${value}`))
  return [`HTTP ${status} ${safe(statusText)}`.trimEnd(), ...lines, '', ''].join('\n')
}

/** Reads the complete body. One that breaks off is not printed. */
async function wholeBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(response)) {
    chunks.push(chunk)
    size += chunk.length
    if (size > mostInMemory) throw usageError('the response is larger than 64 MiB; use --stream or --output FILE')
  }
  return Buffer.concat(chunks)
}

async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (!body) return
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) yield chunk
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(exitCodes.upstream, 'the answer broke off before its end', { code: 'broken_off' })
  }
}

async function toFile(
  output: Output,
  response: Response,
  { file, include, isSilent }: { file: string; include: boolean; isSilent: boolean },
): Promise<void> {
  const stream = createWriteStream(file)
  const failed = new Promise<never>((_, reject) => {
    stream.on('error', (error) => {
      reject(usageError(`--output: ${inLine(file)} can't be written (${codeOf(error)})`))
    })
  })
  failed.catch(() => undefined)
  let size = 0
  const write = async () => {
    if (include) stream.write(headOf(response, (text) => text))
    for await (const chunk of chunksOf(response)) {
      size += chunk.length
      if (!stream.write(chunk)) await once(stream, 'drain')
    }
    stream.end()
    await once(stream, 'finish')
  }
  await Promise.race([write(), failed])
  if (!isSilent) output.say(`${size} bytes written to ${inLine(file)}`)
}

function readable(body: Buffer, type: string): string {
  const kind = type.split(';')[0]?.trim().toLowerCase() ?? ''
  const text = body.toString('utf8')
  if (text.includes('\u0000') || Buffer.from(text, 'utf8').length !== body.length || text.includes('\ufffd')) {
    return `(${body.length} bytes of ${kind}, not shown on a terminal; use --output FILE)`
  }
  if (!/[/+]json$/.test(kind)) return text
  try {
    return safeJson(JSON.stringify(JSON.parse(text), null, 2))
  } catch {
    return text
  }
}
