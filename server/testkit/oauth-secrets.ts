/** Collects the secrets in calls to a provider and in its responses. */
import type { IncomingMessage } from 'node:http'
import type { Answer } from './oauth-faults.ts'

const secretMembers = [
  'code',
  'code_verifier',
  'client_secret',
  'client_assertion',
  'access_token',
  'refresh_token',
  'id_token',
  'token',
  'device_code',
  'registration_access_token',
]

export function secretsOfRequest(request: IncomingMessage, body: Buffer): { grantType?: string; secrets: string[] } {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
  const form = new URLSearchParams(isForm ? body.toString() : '')
  const grantType = form.get('grant_type') ?? undefined
  return {
    ...(grantType !== undefined && { grantType }),
    secrets: [...secretsAmong(Object.fromEntries(form)), ...secretsOfAuthorization(request.headers.authorization)],
  }
}

export function secretsOfAnswer({ headers, body }: Answer): string[] {
  const location = String(headers['location'] ?? '')
  const query = URL.canParse(location) ? Object.fromEntries(new URL(location).searchParams) : {}
  const type = String(headers['content-type'])
  const text = body.toString()
  if (type.includes('json')) return [...secretsAmong(query), ...secretsAmong(jsonObject(text))]
  if (type.includes('x-www-form-urlencoded')) return secretsAmong(Object.fromEntries(new URLSearchParams(text)))
  return secretsAmong(query)
}

function secretsAmong(members: Record<string, unknown>): string[] {
  return secretMembers
    .map((name) => members[name])
    .filter((value) => typeof value === 'string' && value !== '') as string[]
}

/** RFC 6749 §2.3.1: the secret of HTTP Basic is form-encoded within it. */
function secretsOfAuthorization(authorization = ''): string[] {
  const [scheme, value] = authorization.split(' ')
  if (value === undefined) return []
  if (scheme?.toLowerCase() !== 'basic') return [value]
  const [, secret = ''] = Buffer.from(value, 'base64').toString().split(':')
  return [...new URLSearchParams(`secret=${secret}`).getAll('secret')].filter((one) => one !== '')
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
