/** Clients of the legacy protocol, and a relay that a test controls. */
import { createLegacyClient, importClientKey } from '@sallyport/sdk'
import type { ClientKey, LegacyClient, LegacyClientOptions } from '@sallyport/sdk'
import { giveRunningServiceKey, keyPair } from '../server/testkit/legacy-v1.ts'
import type { Environment, RunningService } from './running-service.ts'

/** Many of them register from one address. */
export const roomyForLegacy: Environment = {
  SALLYPORT_V1_REGISTRATIONS_PER_MINUTE: '100000',
  SALLYPORT_V1_REGISTRATIONS_PER_DAY: '100000',
  SALLYPORT_V1_REGISTRATIONS_PER_KEY: '100000',
}

export const baseUrlOf = ({ port }: RunningService) => `http://localhost:${port}`

const withKey = new WeakSet<RunningService>()
const keysGiven = new WeakMap<RunningService, number>()

/** The service's fingerprint, as the operator would give it to a client. */
export async function serviceFingerprint(service: RunningService): Promise<string> {
  if (!withKey.has(service)) await giveRunningServiceKey(service.env)
  withKey.add(service)
  const { body } = await service.call('GET', '/v1/authai/public-key')
  return body.fingerprint as string
}

/** A key that no other client of this service has. Other services may have it too, as generating keys is slow. */
export function keyFor(service: RunningService): Promise<ClientKey> {
  const index = keysGiven.get(service) ?? 0
  keysGiven.set(service, index + 1)
  return importClientKey(keyPair(index).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
}

export async function clientOf(
  service: RunningService,
  options: Partial<LegacyClientOptions> = {},
): Promise<{ client: LegacyClient; key: ClientKey }> {
  const key = options.key ?? (await keyFor(service))
  const serviceKeyFingerprint = options.serviceKeyFingerprint ?? (await serviceFingerprint(service))
  return { client: createLegacyClient({ baseUrl: baseUrlOf(service), ...options, key, serviceKeyFingerprint }), key }
}

export const valuesOf = ({ items }: { items: { key: string; value: unknown }[] }) =>
  Object.fromEntries(items.map(({ key, value }) => [key, value]))

export interface Relay {
  /** Changes the request before it goes to the service. */
  request?: (path: string, body: any) => object
  /** Changes the response before it goes to the client; without `error` it is a 200. */
  answer?: (path: string, body: any) => object | Promise<object>
}

/** Sees everything, and can change it. */
export function through(relay: Relay): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input
    const path = new URL(url).pathname
    const sent: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    const request = sent === undefined ? undefined : (relay.request?.(path, sent) ?? sent)
    const response = await fetch(url, { ...init, ...(request !== undefined && { body: JSON.stringify(request) }) })
    const answered: unknown = await response.json()
    const answer: any = await (relay.answer?.(path, answered) ?? answered)
    return Response.json(answer, { status: answer.error ? response.status : 200 })
  }
}
