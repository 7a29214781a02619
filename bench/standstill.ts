import { eventually } from '../e2e/running-service.ts'
import type { RunningService } from '../e2e/running-service.ts'

const reported = /"longest_standstill_ms":([\d.]+)/g

/** The longest time the service's event loop was blocked during the work, in milliseconds (see loop-delay.ts). */
export async function standstillDuring<T>(
  service: RunningService,
  work: () => Promise<T>,
): Promise<{ longestMs: number; result: T }> {
  const lines = () => [...service.log.matchAll(reported)]
  const seen = lines().length
  service.signal('SIGUSR2')
  const result = await work()
  service.signal('SIGUSR2')
  await eventually(() => lines().length > seen, 'the service did not say how long its event loop stood still')
  return { longestMs: Number(lines().at(-1)?.[1]), result }
}
