/**
 * Clients of the legacy protocol, in their own process. Each makes one call at a time, as a challenge allows only one.
 */
import { createLegacyClient, generateClientKey } from '@sallyport/sdk'
import type { LegacyClient } from '@sallyport/sdk'
import type { Measured } from './load.ts'

export interface LegacyLoad {
  kind: 'save' | 'read'
  port: number
  fingerprint: string
  seconds: number
  /** Calls per second over all clients; undefined for as fast as possible. */
  perSecond?: number | undefined
}

/** Below the number of registrations that one address may make in a minute. */
const clientCount = 8
const namespace = 'bench'
const item = { key: 'one', value: 'x'.repeat(1024) }

process.on('disconnect', () => process.exit())
process.on('message', (load: LegacyLoad) => {
  run(load).then(
    (measured) => process.send?.({ measured }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

let clients: Promise<LegacyClient[]> | undefined

function startClients({ port, fingerprint }: LegacyLoad): Promise<LegacyClient[]> {
  return Promise.all(
    Array.from({ length: clientCount }, async () => {
      const key = await generateClientKey(2048)
      const client = createLegacyClient({
        baseUrl: `http://localhost:${port}`,
        serviceKeyFingerprint: fingerprint,
        key,
      })
      await client.save(namespace, [item])
      return client
    }),
  )
}

async function run(load: LegacyLoad): Promise<Measured> {
  const ready = await (clients ??= startClients(load))
  const latencies: number[] = []
  const started = performance.now()
  const end = started + load.seconds * 1000
  const gapMs = load.perSecond === undefined ? 0 : (clientCount * 1000) / load.perSecond
  const work = async (client: LegacyClient, index: number) => {
    let due = started + (gapMs * index) / clientCount
    while (performance.now() < end) {
      await until(due)
      const began = performance.now()
      if (load.kind === 'save') await client.save(namespace, [item])
      else await client.read(namespace, [item.key])
      latencies.push(performance.now() - began)
      due += gapMs
    }
  }
  await Promise.all(ready.map(work))
  const seconds = (performance.now() - started) / 1000
  latencies.sort((one, other) => one - other)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { calls: latencies.length, seconds, p50: quantile(0.5), p99: quantile(0.99) }
}

async function until(due: number): Promise<void> {
  const waitMs = due - performance.now()
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
}
