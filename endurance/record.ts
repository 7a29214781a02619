/** Checks that the audit log is complete: it verifies, and has every call that reached the upstream. */
import { runServer } from '../e2e/running-service.ts'
import type { RunningService } from '../e2e/running-service.ts'

type Scope = Parameters<typeof runServer>[0]

/** Method and path of every recorded call. */
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

/** The complaints of `audit verify`; empty if the log is intact. */
export async function verifyRecord(t: Scope, { env }: RunningService): Promise<string> {
  const { code, stdout, stderr } = await runServer(t, ['audit', 'verify'], env)
  return code === 0 ? '' : stdout + stderr
}

/** Describes what is wrong; empty if it is complete. Stops the service. `seen`: method and path of each call. */
export async function recordFaults(t: Scope, service: RunningService, seen: string[]): Promise<string[]> {
  // A call is recorded before it is sent, but calls made while the log is being read may be missing from it.
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
