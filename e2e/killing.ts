import assert from 'node:assert/strict'
import type { RunningService } from './running-service.ts'

/** Every client works until the service is killed under it, which is when `enough` answers have come in all. */
export async function killAmid(
  service: RunningService,
  { clients, enough }: { clients: number; enough: number },
  turn: (client: number) => Promise<void>,
): Promise<void> {
  let answered = 0
  let killed: Promise<unknown> | undefined
  const isStill = () => killed === undefined
  const work = async (client: number) => {
    while (isStill()) {
      try {
        await turn(client)
      } catch (error) {
        // Before the kill nothing may fail; after it the connection is gone.
        if (isStill()) throw error
        return
      }
      answered++
      if (answered >= enough) killed ??= service.kill()
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)))
  assert.deepEqual(await killed, { code: null, signal: 'SIGKILL' })
}
