/**
 * Asks the provider whether it accepts a credential, and whose it is, before anything is stored. What it answers is
 * never shown, apart from the status and the name of the account.
 */
import { randomUUID } from 'node:crypto'
import { acceptedEncodings, decodeWhole } from '../platform/egress/decoding.ts'
import type { SuppliedBy } from '../platform/egress/destinations.ts'
import type { Egress, EgressRequest } from '../platform/egress/egress.ts'
import { isEgressFailure } from '../platform/egress/failures.ts'
import { ServiceError } from '../platform/errors.ts'
import { assertListed } from '../providers/api-hosts.ts'
import { hostMember } from '../providers/auth-method.ts'
import type { AuthMethod, CredentialCheck } from '../providers/auth-method.ts'
import { injectorOf } from '../providers/injector.ts'
import type { CredentialValues } from '../providers/injector.ts'
import type { Provider } from '../providers/provider.ts'
import { parseTemplate, render } from '../providers/template.ts'
import { createRedactor } from '../redaction/redactor.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import { accountIn } from './account.ts'
import type { Account } from './account.ts'
import { hostOf, secretsIn } from './credential.ts'

interface CheckNeeds {
  egress: Pick<Egress, 'collect'>
}

const maxBytes = 1_048_576
const wholeMs = 15_000

/** Who shaped the hosts of calls with this credential. A person who enters a host may reach only what a stranger may. */
export function whoShaped({ source }: Pick<Provider, 'source'>, method: AuthMethod): SuppliedBy {
  return source === 'proposal' || hostMember(method) ? 'stranger' : 'operator'
}

/** The account, or undefined if the check does not name one. Throws if the provider refuses or does not answer. */
export async function checkCredential(
  { egress }: CheckNeeds,
  provider: Pick<Provider, 'source' | 'apiHosts'>,
  method: AuthMethod & { check: CredentialCheck },
  values: CredentialValues,
): Promise<Account | undefined> {
  const { apply, derived } = injectorOf(method).withValues(values)
  const request: EgressRequest = {
    url: injectorOf(method).placed(checkUrl(method.check, values)),
    method: 'GET',
    headers: [...headersOf(method.check), ['accept-encoding', acceptedEncodings]],
    body: undefined,
    suppliedBy: whoShaped(provider, method),
    limits: { wholeMs, firstByteMs: wholeMs, maxBytes },
    // A pool of its own: no other request uses these sockets.
    pool: `check ${randomUUID()}`,
  }
  const { host } = request.url
  assertListed(provider, host)
  apply(request)
  const { status, body } = await ask(egress, request, host)
  if (status === 408 || status === 429 || status >= 500) throw unavailable(`the check: status ${status}`)
  if (status < 200 || status > 299) throw refused(status)
  const source = method.check.account
  if (!source) return undefined
  const found = accountIn(parseObject(body), source)
  const redactor = createRedactor(compileSecrets([...secretsIn(method, values), ...derived]))
  // Some APIs answer 200 to anyone, or repeat what they were sent.
  if (!found || redactor.text(found.id) !== found.id) throw refused(status)
  const isShown = found.label !== null && redactor.text(found.label) === found.label
  const label = isShown ? found.label : null
  const tenant = hostOf(method, values)
  // Every tenant has an account 1.
  return { id: tenant === null ? found.id : `${tenant}/${found.id}`, label }
}

function headersOf({ headers }: CredentialCheck): [name: string, value: string][] {
  const given = Object.entries(headers ?? {})
  const saysType = given.some(([name]) => name.toLowerCase() === 'accept')
  return saysType ? given : [['accept', 'application/json'], ...given]
}

function checkUrl({ url }: CredentialCheck, values: CredentialValues): URL {
  const valueOf = (name: string) => (name === 'credential' ? '{credential}' : (values[name]?.reveal() ?? ''))
  return new URL(render(parseTemplate(url) ?? [], valueOf))
}

async function ask(egress: Pick<Egress, 'collect'>, request: EgressRequest, host: string) {
  try {
    const { status, headers, body } = await egress.collect(request)
    const encodings = headers.filter(([name]) => name.toLowerCase() === 'content-encoding').map(([, value]) => value)
    return { status, body: await decodeWhole(body, encodings.join(), maxBytes, host) }
  } catch (error) {
    if (!isEgressFailure(error)) throw error
    const { code, message: detail } = error
    if (code === 'address_not_allowed') throw new ServiceError(code, { field: 'credential', detail })
    throw unavailable(detail)
  }
}

function parseObject(body: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function refused(status: number): ServiceError {
  return new ServiceError('credential_refused', { field: 'credential', extra: { upstream_status: status } })
}

function unavailable(detail: string): ServiceError {
  return new ServiceError('provider_unavailable', { field: 'credential', detail })
}
