/**
 * What is sent of a credential: text with members in braces, such as `Bearer {api_key}`, and base64 of such text, as in
 * `Basic {base64(x-access-token:{api_key})}`.
 */
import { redacted } from '../platform/secret.ts'

export type TemplatePart =
  | { kind: 'text'; text: string }
  | { kind: 'member'; name: string }
  | { kind: 'base64'; parts: TemplatePart[] }

const beginsBase64 = '{base64('
const endsBase64 = ')}'
const memberName = /^[a-z][a-z0-9_]{0,39}$/
const plainText = /^[\x20-\x7e]*$/

/** Undefined if it is malformed. */
export function parseTemplate(template: string): TemplatePart[] | undefined {
  return parse(template, true)
}

function parse(template: string, mayEncode: boolean): TemplatePart[] | undefined {
  const parts: TemplatePart[] = []
  for (let at = 0; at < template.length;) {
    const open = template.indexOf('{', at)
    const text = template.slice(at, open === -1 ? undefined : open)
    if (text.includes('}') || !plainText.test(text)) return undefined
    if (text !== '') parts.push({ kind: 'text', text })
    if (open === -1) break
    const isEncoded = template.startsWith(beginsBase64, open)
    const close = template.indexOf(isEncoded ? endsBase64 : '}', open)
    if (close === -1) return undefined
    const inner = template.slice(open + (isEncoded ? beginsBase64.length : 1), close)
    if (isEncoded) {
      const encoded = mayEncode ? parse(inner, false) : undefined
      if (!encoded || encoded.length === 0) return undefined
      parts.push({ kind: 'base64', parts: encoded })
    } else {
      if (!memberName.test(inner)) return undefined
      parts.push({ kind: 'member', name: inner })
    }
    at = close + (isEncoded ? endsBase64.length : 1)
  }
  return parts
}

/** The members that it names, each once. */
export function membersIn(parts: readonly TemplatePart[]): string[] {
  const names = parts.flatMap((part) =>
    part.kind === 'member' ? [part.name] : part.kind === 'base64' ? membersIn(part.parts) : [],
  )
  return [...new Set(names)]
}

export function render(parts: readonly TemplatePart[], valueOf: (name: string) => string): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text
      if (part.kind === 'member') return valueOf(part.name)
      return Buffer.from(render(part.parts, valueOf)).toString('base64')
    })
    .join('')
}

/** The values of its base64 parts: they are secrets of their own. */
export function renderEncoded(parts: readonly TemplatePart[], valueOf: (name: string) => string): string[] {
  return parts.filter(({ kind }) => kind === 'base64').map((part) => render([part], valueOf))
}

/** With `[REDACTED]` for everything that depends on the credential. */
export function renderRedacted(parts: readonly TemplatePart[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : redacted)).join('')
}
