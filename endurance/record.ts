/** Whether the record is whole: it verifies, and every call that reached the upstream is on it. */
import { runServer } from '../e2e/running-service.ts'
import type { RunningService } from '../e2e/running-service.ts'

type Scope = Parameters<typeof runServer>[0]

/** Method and path of every call on record. */
export async function recordedCalls(service: RunningService): Promise<string[]> {
  const { status, text } = await service.call('GET', '/v4/audit?event=proxy.attempt&format=ndjson', {
    token: service.adminToken,
  })
  if (status !== 200) throw new Error(`The record can't be read: ${status} ${text}`)
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const { detail } = JSON.parse(line) as { detail: { method: string; path: string } }
    return `${detail.method} ${detail.path}`
  })
}

/** What `audit verify` complains about; nothing where the record is as the service wrote it. */
export async function verifyRecord(t: Scope, { env }: RunningService): Promise<string> {
  const { code, stdout, stderr } = await runServer(t, ['audit', 'verify'], env)
  return code === 0 ? '' : stdout + stderr
}

/** What is wrong with it, in words; nothing where it is whole. Stops the service. `seen`: method and path of each call. */
export async function recordFaults(t: Scope, service: RunningService, seen: string[]): Promise<string[]> {
  // A call is on record before it is sent; those that come while the record is read may not be in what is read.
  const reached = [...seen]
  const recorded = new Set(await recordedCalls(service))
  const missing = reached.filter((call) => !recorded.has(call))
  const faults = missing.length === 0 ? [] : [`${missing.length} calls have no record, such as ${missing[0]}.`]
  const { code, signal } = await service.stop()
  if (code !== 0) faults.push(`The service ended with ${code ?? signal}.`)
  const complaint = await verifyRecord(t, service)
  if (complaint !== '') faults.push(complaint)
  return faults
}
