/** Checks the ways of authentication that an admin gives, and completes them. Every URL and host is one of the provider. */
import type { AuthMethod as GivenMethod } from '@sallyport/protocol/auth-methods'
import { parsePattern } from '@sallyport/protocol/credential-members'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost, readApiHost, readApiHosts } from './api-hosts.ts'
import { authKindOf, isFormMethod, isMintedMethod } from './auth-kinds/auth-kind.ts'
import type { FormMethod } from './auth-kinds/auth-kind.ts'
import { githubApi } from './auth-kinds/github-app.ts'
import { hostMember, memberNamed, oauth2Method } from './auth-method.ts'
import type { AuthMethod, CredentialCheck, CredentialMember, CredentialPlace } from './auth-method.ts'
import { readSigningEntries } from './aws/signing-scopes.ts'
import { readInjectedHeader } from './calling.ts'
import { placeholder } from './injector.ts'
import { membersIn, parseTemplate, render } from './template.ts'
import type { TemplatePart } from './template.ts'

const tenantPattern = '[a-z0-9-]{1,63}'

export function readAuthMethods(
  given: readonly GivenMethod[],
  apiHosts: readonly string[],
  field = 'auth_methods',
): AuthMethod[] {
  const methods = given.map((one, index) => readMethod(one, apiHosts, `${field}.${index}`))
  methods.forEach(({ name }, index) => {
    if (methods.findIndex((other) => other.name === name) === index) return
    throw invalid(`${field}.${index}.name`, 'Two methods have this name. Give each its own.')
  })
  return methods
}

function readMethod(given: GivenMethod, apiHosts: readonly string[], field: string): AuthMethod {
  const { kind, name = kind, label = null, help = null } = given
  if (kind === 'oauth2') {
    const extra = (['members', 'inject', 'check', 'signs', 'api_url', 'token_url'] as const).find(
      (member) => given[member] !== undefined,
    )
    if (extra !== undefined) throw invalid(`${field}.${extra}`, 'The method "oauth2" has no such member. Omit it.')
    if (name !== 'oauth2') throw invalid(`${field}.name`, 'The method "oauth2" has no other name. Omit it.')
    return oauth2Method
  }
  if (name === 'oauth2') throw invalid(`${field}.name`, 'This name belongs to the method "oauth2". Choose another.')
  const members = readMembers(given, apiHosts, `${field}.members`)
  const known = new Map(members.map((member) => [member.name, member]))
  const method: AuthMethod = {
    ...{ kind, name, label, help, members },
    inject: readPlaces(given, known, apiHosts, `${field}.inject`),
    check: given.check ? readCheck(given.check, known, apiHosts, `${field}.check`) : null,
    ...readSigns(given, apiHosts, `${field}.signs`),
    ...readApiUrl(given, apiHosts, `${field}.api_url`),
    ...readTokenUrl(given, members, `${field}.token_url`),
  }
  if (isMintedMethod(method)) assertIsMinted(given, field)
  else if (isFormMethod(method)) assertIsSent(method, field)
  return method
}

function readSigns(
  { kind, signs }: GivenMethod,
  apiHosts: readonly string[],
  field: string,
): Pick<AuthMethod, 'signs'> {
  if (kind !== 'aws_sigv4') {
    if (signs) throw invalid(field, `The method "${kind}" signs nothing. Omit "signs".`)
    return {}
  }
  if (!signs) throw new ServiceError('missing_field', { field, message: `"${field}" is missing. Add it.` })
  return { signs: readSigningEntries(signs, apiHosts, field) }
}

/** Each tenant's token endpoint is at the host that a member names. The credential is sent nowhere else. */
function readTokenUrl(
  { kind, token_url }: GivenMethod,
  members: readonly CredentialMember[],
  field: string,
): Pick<AuthMethod, 'token_url'> {
  if (token_url === undefined) return {}
  if (kind !== 'client_credentials') throw invalid(field, `The method "${kind}" has no such member. Omit it.`)
  const start = `https://${members.find(({ host }) => host !== null)?.host ?? ''}`
  const path = token_url.slice(start.length)
  const isPath = path.startsWith('/') && URL.parse(`https://host.example${path}`)?.pathname === path
  if (token_url.startsWith(start) && isPath) return { token_url }
  throw invalid(
    field,
    'Write a URL at the host that a member names, such as https://{tenant}.example.com/token, without a query. ' +
      'If there is one for all, set the "token_url" of the provider instead.',
  )
}

/** Assertions of the app are sent there. */
function readApiUrl(
  { kind, api_url: given }: GivenMethod,
  apiHosts: readonly string[],
  field: string,
): Pick<AuthMethod, 'api_url'> {
  if (kind !== 'github_app') {
    if (given !== undefined) throw invalid(field, `The method "${kind}" has no such member. Omit it.`)
    return {}
  }
  const api_url = given ?? githubApi
  const url = URL.parse(api_url)
  const isPlain = url?.protocol === 'https:' && url.username === '' && !/[?#]|\/$/.test(api_url)
  if (!isPlain || `${url.origin}${url.pathname}`.replace(/\/$/, '') !== api_url) {
    throw invalid(
      field,
      'Use an absolute https URL without a query or a slash at its end, such as https://HOST/api/v3.',
    )
  }
  if (apiHosts.some((entry) => matchesHost(entry, url.host))) return { api_url }
  throw invalid(field, `The host of ${api_url} is not one of "api_hosts". Add it, or set "${field}".`)
}

function readMembers(given: GivenMethod, apiHosts: readonly string[], field: string): CredentialMember[] {
  if (given.kind === 'oauth2') return []
  const usual = authKindOf(given.kind).defaultMembers
  const named = (given.members ?? []).map((member, index): CredentialMember => {
    const { name, label = null, host = null, pattern = host === null ? null : tenantPattern } = member
    const ofKind = usual.find((one) => one.name === name)
    const secret = member.secret ?? (host === null && (ofKind?.secret ?? true))
    const at = `${field}.${index}`
    if (pattern !== null && !parsePattern(pattern)) {
      throw invalid(`${at}.pattern`, 'Write one set of characters and how many of them, such as [a-z0-9-]{1,63}.')
    }
    const one = memberNamed(name, { ...ofKind, label, secret, pattern, host })
    if (host !== null) assertTenantHost(one, host, apiHosts, at)
    return one
  })
  named.forEach(({ name }, index) => {
    if (named.findIndex((other) => other.name === name) !== index) {
      throw invalid(`${field}.${index}.name`, 'Two members have this name. Give each its own.')
    }
  })
  const [, second] = named.filter(({ host }) => host !== null)
  if (second) throw invalid(`${field}.${named.indexOf(second)}.host`, 'Only one member can name the host.')
  // A method of one's own names its members; user name and password are always part of `basic`.
  const isOwn = given.kind === 'api_key' && named.some(({ host }) => host === null)
  const missing = isOwn ? [] : usual.filter(({ name }) => !named.some((member) => member.name === name))
  const members = [...named, ...missing]
  if (!members.some(({ secret }) => secret)) throw invalid(field, 'At least one member has to be secret.')
  return members
}

function assertTenantHost({ name, secret }: CredentialMember, host: string, apiHosts: readonly string[], at: string) {
  if (secret) throw invalid(`${at}.secret`, 'A member that names the host is not secret.')
  const parts = parseTemplate(host)
  if (!parts || membersIn(parts).join() !== name || parts.some(({ kind }) => kind === 'base64')) {
    throw invalid(`${at}.host`, `Write a host with this member in braces, such as {${name}}.example.com.`)
  }
  const example = readApiHost(
    render(parts, () => 'tenant'),
    `${at}.host`,
  )
  if (!apiHosts.some((entry) => matchesHost(entry, example))) {
    throw invalid(`${at}.host`, 'The host is not one of "api_hosts". Add *. and its domain there.')
  }
}

const issuedToken = new Map([['token', memberNamed('token')]])

function readPlaces(
  { kind, inject, token_url }: GivenMethod,
  members: ReadonlyMap<string, CredentialMember>,
  apiHosts: readonly string[],
  field: string,
): CredentialPlace[] {
  const usual = kind === 'oauth2' ? [] : authKindOf(kind).inject
  if (inject && token_url !== undefined) {
    const other = inject.findIndex(({ in: where }) => where !== 'header')
    if (other !== -1) throw invalid(`${field}.${other}.in`, 'An issued token is sent in a header.')
    return inject.map((place, index) => readPlace(place, issuedToken, apiHosts, `${field}.${index}`))
  }
  if (usual !== 'required') {
    if (inject) throw invalid(field, `The method "${kind}" is always sent in the same way. Omit "inject".`)
    return [...usual]
  }
  if (!inject) throw new ServiceError('missing_field', { field, message: `"${field}" is missing. Add it.` })
  return inject.map((place, index) => readPlace(place, members, apiHosts, `${field}.${index}`))
}

function readPlace(
  { in: where, name, template, hosts, paths }: NonNullable<GivenMethod['inject']>[number],
  members: ReadonlyMap<string, CredentialMember>,
  apiHosts: readonly string[],
  field: string,
): CredentialPlace {
  const parts = parseTemplate(template)
  if (!parts) throw invalid(`${field}.template`, 'The template is malformed. Write members as {name} or {base64(…)}.')
  assertKnown(parts, members, `${field}.template`)
  if (!membersIn(parts).some((member) => members.get(member)?.secret)) {
    throw invalid(`${field}.template`, 'The template names no secret member.')
  }
  const placeHosts = hosts && readApiHosts(hosts, `${field}.hosts`)
  placeHosts?.forEach((host, index) => {
    if (apiHosts.includes(host) || apiHosts.some((entry) => matchesHost(entry, host))) return
    throw invalid(`${field}.hosts.${index}`, 'The host is not one of "api_hosts".')
  })
  paths?.forEach((path, index) => {
    if (path.startsWith('/') && URL.parse(`https://host.example${path}`)?.pathname === path) return
    throw invalid(`${field}.paths.${index}`, 'This is not a normalized path. Start it with a slash, without a query.')
  })
  const placeName = readPlaceName(where, name, `${field}.name`)
  return { in: where, name: placeName, template, hosts: placeHosts ?? null, paths: paths ?? null }
}

function readPlaceName(where: CredentialPlace['in'], name: string, field: string): string {
  if (where === 'header') return readInjectedHeader(name, field)
  if (where === 'query') {
    if (/^[\x21-\x7e]{1,100}$/.test(name)) return name
    throw invalid(field, 'The name of a parameter has to be ASCII without blanks.')
  }
  const path = name.endsWith('/') ? name.slice(0, -1) : name
  const before = path.slice(0, -placeholder.length)
  const isPlain = URL.parse(`https://host.example${before}`)?.pathname === before && !before.includes('//')
  if (path.endsWith(`/${placeholder}`) && isPlain) return `${path}/`
  throw invalid(field, `Write the path up to the segment of the credential, such as /${placeholder}/.`)
}

function readCheck(
  { url, headers, account }: NonNullable<GivenMethod['check']>,
  members: ReadonlyMap<string, CredentialMember>,
  apiHosts: readonly string[],
  field: string,
): CredentialCheck {
  const at = `${field}.url`
  // The place of a credential in a path looks like a member.
  const parts = parseTemplate(url.replace(`/${placeholder}`, '/credential'))
  if (!parts || parts.some(({ kind }) => kind === 'base64')) throw invalid(at, 'The URL is malformed.')
  assertKnown(parts, members, at)
  const secret = membersIn(parts).find((name) => members.get(name)?.secret)
  if (secret !== undefined) throw invalid(at, 'The URL names a secret member. Send it with "inject".')
  const example = URL.parse(render(parts, () => 'tenant'))
  const isPlain = example?.protocol === 'https:' && example.username === '' && !url.includes('#')
  if (!isPlain) throw invalid(at, 'Use an absolute https URL without a fragment.')
  if (!apiHosts.some((entry) => matchesHost(entry, example.host))) {
    throw invalid(at, 'The host is not one of "api_hosts".')
  }
  const paths = account && [account.id, ...(account.labels ?? [])]
  if (paths?.some((path) => !/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.test(path))) {
    throw invalid(`${field}.account`, 'Write names of members separated by dots, such as user.id.')
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (isCheckHeader(name) && /^[\x20-\x7e]+$/.test(value)) continue
    throw invalid(`${field}.headers.${name.slice(0, 100)}`, 'The check cannot send this header. Omit it.')
  }
  return {
    ...{ url, ...(headers && { headers }) },
    account: account ? { id: account.id, labels: account.labels ?? [] } : null,
  }
}

/** What an API may insist on. Not what frames the request, and nothing that carries a credential. */
function isCheckHeader(name: string): boolean {
  return /^(?:accept|user-agent|(?:[a-z0-9]+-)*version)$/i.test(name)
}

function assertKnown(parts: readonly TemplatePart[], members: ReadonlyMap<string, unknown>, field: string): void {
  const unknown = membersIn(parts).find((name) => !members.has(name))
  if (unknown !== undefined) throw invalid(field, `There is no member "${unknown}".`)
}

/** What the token endpoint expects is fixed, and issuing a token is the check. */
function assertIsMinted({ kind, members, check, token_url }: GivenMethod, field: string): void {
  if (check) throw invalid(`${field}.check`, `The method "${kind}" is always checked in the same way. Omit "check".`)
  const known = kind === 'oauth2' ? [] : authKindOf(kind).defaultMembers
  members?.forEach((member, index) => {
    const usual = known.find(({ name }) => name === member.name)
    const isChanged = member.host !== undefined || (member.secret ?? usual?.secret) !== usual?.secret
    const namesTenant = !usual && token_url !== undefined && member.host !== undefined
    if (!namesTenant && (!usual || isChanged)) {
      throw invalid(`${field}.members.${index}`, `The members of "${kind}" are fixed. Only labels can be set.`)
    }
  })
}

/** A secret that is never sent is a mistake. So is a tenant whose host the credential is not limited to. */
function assertIsSent(method: FormMethod, field: string): void {
  const sent = new Set(method.inject.flatMap(({ template }) => membersIn(parseTemplate(template) ?? [])))
  method.members.forEach(({ name, secret }, index) => {
    if (secret && !sent.has(name)) throw invalid(`${field}.members.${index}.name`, 'No template names this member.')
  })
  const tenant = hostMember(method)
  if (tenant && method.check && !method.check.url.startsWith(`https://${tenant.host}/`)) {
    throw invalid(`${field}.check.url`, `The credential is sent to https://${tenant.host}/ alone.`)
  }
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_field', { field, message })
}
