/** Whether the record is whole: it verifies, and every call that reached the upstream is on it. */
import { runServer } from '../e2e/running-service.ts'
import type { RunningService } from '../e2e/running-service.ts'

/** What is wrong with it, in words; nothing where it is whole. Stops the service. `seen`: method and path of each call. */
export async function recordFaults(
  t: Parameters<typeof runServer>[0],
  service: RunningService,
  seen: string[],
): Promise<string[]> {
  const exported = await service.call('GET', '/v4/audit?event=proxy.attempt&format=ndjson', {
    token: service.adminToken,
  })
  if (exported.status !== 200) return [`The record can't be read: ${exported.status} ${exported.text}`]
  const recorded = new Set<string>()
  for (const line of exported.text.split('\n')) {
    if (line === '') continue
    const { detail } = JSON.parse(line) as { detail: { method: string; path: string } }
    recorded.add(`${detail.method} ${detail.path}`)
  }
  const missing = seen.filter((call) => !recorded.has(call))
  const faults = missing.length === 0 ? [] : [`${missing.length} calls have no record, such as ${missing[0]}.`]
  const { code, signal } = await service.stop()
  if (code !== 0) faults.push(`The service ended with ${code ?? signal}.`)
  const verified = await runServer(t, ['audit', 'verify'], service.env)
  if (verified.code !== 0) faults.push(verified.stdout + verified.stderr)
  return faults
}
