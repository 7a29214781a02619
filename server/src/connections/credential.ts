/**
 * What a person enters to connect an account. Every secret is long enough to be found in answers, and neither errors
 * nor the log ever have a value.
 */
import { maxFileLength, maxMemberLength, minSecretLength, parsePattern } from '@sallyport/protocol/credential-members'
import { ServiceError } from '../platform/errors.ts'
import { Secret } from '../platform/secret.ts'
import { readApiHost } from '../providers/api-hosts.ts'
import { authKindOf } from '../providers/auth-kinds/auth-kind.ts'
import type { FormMethod } from '../providers/auth-kinds/auth-kind.ts'
import { hostMember } from '../providers/auth-method.ts'
import type { AuthMethod, CredentialMember } from '../providers/auth-method.ts'
import type { CredentialValues } from '../providers/injector.ts'
import { parseTemplate, render } from '../providers/template.ts'

/** Trimmed, complete, and nothing besides. */
export function readCredential(method: FormMethod, given: Readonly<Record<string, string>>): CredentialValues {
  const unknown = Object.keys(given).find((name) => !method.members.some((member) => member.name === name))
  if (unknown !== undefined) {
    const names = method.members.map(({ name }) => name).join(', ')
    throw invalid(unknown.slice(0, 100), `is not a member of this credential, which has: ${names}`)
  }
  const { mayBeEmpty } = authKindOf(method.kind)
  const texts = method.members.map((member) => ({ member, text: textOf(method, member, given) }))
  const isWithoutSecret = mayBeEmpty && !texts.some(({ member, text }) => member.secret && text !== '')
  const secret = method.members.find((member) => member.secret)
  if (isWithoutSecret && secret) throw invalid(secret.name, 'must not be empty')
  const entered = texts.filter(({ member, text }) => !member.optional || text !== '')
  return Object.fromEntries(entered.map(({ member, text }) => [member.name, new Secret(text)]))
}

function textOf(method: FormMethod, member: CredentialMember, given: Readonly<Record<string, string>>): string {
  const { name, secret, pattern, optional, format } = member
  const { mayBeEmpty, assertMember, normalize } = authKindOf(method.kind)
  const isFile = format !== 'text'
  if (!Object.hasOwn(given, name)) {
    if (optional) return ''
    const field = `credential.${name}`
    throw new ServiceError('missing_field', { field, message: `"${field}" is missing. Add it.` })
  }
  const entered = (given[name] ?? '').trim()
  const longest = isFile ? maxFileLength : maxMemberLength
  if (entered.length > longest) throw invalid(name, `is longer than ${longest} characters`)
  if (!isFile && /\p{Cc}/u.test(entered)) throw invalid(name, 'contains a control character or a line break')
  if (entered === '') {
    if (optional || (mayBeEmpty && pattern === null)) return entered
    throw invalid(name, 'must not be empty')
  }
  if (secret && !isFile && entered.length < minSecretLength) {
    const why = `is shorter than ${minSecretLength} characters, so it could be guessed and not be redacted`
    throw invalid(name, `${why}. Create an app password or a longer key`)
  }
  const wrong = assertMember(name, entered)
  if (wrong !== undefined) throw invalid(name, wrong)
  if (pattern !== null && parsePattern(pattern)?.(entered) !== true) {
    throw invalid(name, `does not have the expected format, ${pattern}`)
  }
  return normalize?.(name, entered) ?? entered
}

/** What must not come back: the secret members. Keys in files sign what is sent, but are never sent themselves. */
export function secretsIn({ members }: AuthMethod, values: CredentialValues): Secret[] {
  return members.flatMap(({ name, secret, format }) =>
    secret && format === 'text' && values[name] ? [values[name]] : [],
  )
}

/** The only host that the credential may be sent to, if it names one. */
export function hostOf(method: AuthMethod, values: CredentialValues): string | null {
  const member = hostMember(method)
  if (!member) return null
  const value = values[member.name]?.reveal() ?? ''
  return readApiHost(
    render(parseTemplate(member.host) ?? [], () => value),
    `credential.${member.name}`,
  )
}

export function credentialText(values: CredentialValues): Secret {
  return new Secret(JSON.stringify(Object.entries(values).map(([name, value]) => [name, value.reveal()])))
}

export function valuesIn(text: Secret): CredentialValues {
  const entries = JSON.parse(text.reveal()) as [string, string][]
  return Object.fromEntries(entries.map(([name, value]) => [name, new Secret(value)]))
}

function invalid(name: string, what: string): ServiceError {
  const field = `credential.${name}`
  return new ServiceError('invalid_field', { field, message: `"${field}" ${what}.` })
}
