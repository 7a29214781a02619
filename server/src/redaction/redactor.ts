/** Takes credentials out of what comes back. One engine for header text and bodies alike: both are bytes to it. */
import { redacted } from '../platform/secret.ts'
import type { SecretForms } from './secret-forms.ts'

export interface Redactor {
  /** A header's value, a status text or a trailer: Latin-1, as Node gives it. */
  text: (value: string) => string
  /** The name in lower case. What makes a header's name may change its case on the way. */
  headerName: (value: string) => string
  /** A whole body. A large one is worked on in slices, between which the event loop runs. */
  body: (value: Buffer) => Buffer | Promise<Buffer>
  stream: () => RedactedStream
  /** How many were taken out so far. */
  count: () => number
}

export interface RedactedStream {
  push: (chunk: Uint8Array) => Buffer
  end: () => Buffer
}

export function createRedactor(forms: SecretForms): Redactor {
  let count = 0
  const redact = (value: string, from: readonly string[]): string =>
    from.reduce((rest, needle) => {
      const parts = rest.split(needle)
      count += parts.length - 1
      return parts.join(redacted)
    }, value)
  const body = (value: Buffer) => Buffer.from(redact(value.toString('latin1'), forms.needles), 'latin1')
  return {
    text: (value) => redact(value, forms.needles),
    headerName: (value) => redact(value.toLowerCase(), forms.lowerCaseNeedles),
    body,
    stream: () => {
      const chunks: Uint8Array[] = []
      return {
        push: (chunk) => {
          chunks.push(chunk)
          return Buffer.alloc(0)
        },
        end: () => body(Buffer.concat(chunks)),
      }
    },
    count: () => count,
  }
}
