/** Asks for the access class of a call at a provider that nothing is known of but its preset, or host. */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import { readSigningEntries } from '../src/providers/aws/signing-scopes.ts'
import { aws } from '../src/providers/presets/aws.ts'
import { readingsOf } from '../src/providers/presets/path-readings.ts'
import { presetRulesAt } from '../src/providers/presets/preset-rules.ts'
import { accessClassOf, isClassedByBody } from '../src/proxy/access-class.ts'
import { judgeUrl } from '../src/proxy/destination.ts'
import type { HeaderList } from '../src/proxy/upstream.ts'

export interface AccessCall {
  method?: string
  /** All that the upstream might execute the call as. Unless it is set, `method` alone. */
  methods?: string[]
  query?: string
  type?: string | undefined
  headers?: HeaderList
  body?: string | Buffer
  /** Of the provider. */
  preset?: string
}

const signs = readSigningEntries(aws.authMethods[0]?.signs ?? [], aws.apiHosts, 'signs')

function judged(url: string, { method = 'GET', query = '', type, headers = [], body, preset }: AccessCall) {
  const destination = judgeUrl(`${url}${query}`, undefined)
  const { hostname } = destination.url
  const all: HeaderList = type === undefined ? headers : [['content-type', type], ...headers]
  const sent = { destination, method, headers: all, body: body === undefined ? undefined : Buffer.from(body) }
  const rules = { preset: presetRulesAt(hostname, preset ?? null), readings: readingsOf(destination.path) }
  return { sent, api: hostname.endsWith('.amazonaws.com') ? { ...rules, signs } : rules }
}

export function accessOf(url: string, given: AccessCall = {}): AccessClass {
  const { sent, api } = judged(url, given)
  return accessClassOf(sent, given.methods ?? [sent.method], api)
}

/** Whether the body of such a call is read to tell the class. */
export function isReadForAccess(url: string, given: AccessCall & { bodyLength?: number } = {}): boolean {
  const { sent, api } = judged(url, given)
  return isClassedByBody({ ...sent, bodyLength: given.bodyLength }, api)
}
