/**
 * The first of several processes that share the port (SALLYPORT_WORKERS): it serves nothing itself. It starts the
 * workers, replaces those that die, passes stops on and brings their figures together.
 */
import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { retryTime } from './platform/backoff.ts'
import { systemClock } from './platform/clock.ts'
import type { Config } from './config/config.ts'
import type { Log } from './platform/operations/log.ts'
import { onReload, onStopSignal } from './signals.ts'
import { gatherFigures } from './worker-figures.ts'
import type { FromWorker, ToWorker } from './worker-link.ts'

/** Whoever lived as long as this did not die of its start. */
const steadyMs = 30_000
const pause = { firstMs: 500, longestMs: 30_000 }
/** What a worker may take to stop beyond its calls; longer than it takes by its own clocks. */
const stopPatienceMs = 30_000

export const isWorker = cluster.isWorker

interface Ending {
  code: number | null
  signal: string | null
}

interface Started {
  worker: Worker
  ready: Promise<'ready'>
  ending: Promise<Ending>
}

/** Resolves when all of them take calls. Ends the process where one can not: then it has said why. */
export async function runWorkers(
  config: Pick<Config, 'workers' | 'stopSeconds' | 'drainSeconds'>,
  log: Log,
): Promise<void> {
  let isStopping = false
  const stopping = new AbortController()
  const ready = new Set<Worker>()
  const figures = gatherFigures({ workers: () => [...ready], tell })

  const start = (): Started => {
    const worker = cluster.fork()
    const becameReady = Promise.withResolvers<'ready'>()
    worker.on('message', (message: FromWorker) => {
      if (message.kind !== 'ready') {
        figures.take(worker, message)
        return
      }
      ready.add(worker)
      // The stop began before it could be told.
      if (isStopping) tell(worker, { kind: 'stop' })
      becameReady.resolve('ready')
    })
    const ending = once(worker, 'exit').then(([code, signal]: (number | string | null)[]) => {
      ready.delete(worker)
      figures.leave(worker)
      return { code, signal } as Ending
    })
    return { worker, ready: becameReady.promise, ending }
  }

  /** One place among the workers, for as long as the service runs. Resolves to how its last worker ended. */
  const keepStaffed = async ({ worker, ending }: Started): Promise<Ending> => {
    for (let deaths = 0; ;) {
      const startedAt = performance.now()
      const { code, signal } = await ending
      if (isStopping) return { code, signal }
      deaths = performance.now() - startedAt < steadyMs ? deaths + 1 : 1
      const pauseMs = deaths === 1 ? 0 : untilNextMs(deaths - 1)
      log.error(
        { worker: worker.process.pid, code, signal, pause_ms: pauseMs },
        'a worker exited and is being restarted',
      )
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return { code: 0, signal: null }
      ;({ worker, ending } = start())
    }
  }

  // The first alone: what keeps it from starting would keep all of them, and is to be said once.
  const first = start()
  await readyOrExit(first, log)
  const all = [first, ...Array.from({ length: config.workers - 1 }, start)]
  await Promise.all(all.map((one) => readyOrExit(one, log)))
  const places = Promise.all(all.map(keepStaffed))

  const stop = async (signal: string) => {
    if (isStopping) endAtOnce()
    isStopping = true
    log.info({ signal }, 'stopping')
    stopping.abort()
    for (const worker of ready) tell(worker, { kind: 'stop' })
    const patienceMs = ((config.drainSeconds ?? 5) + config.stopSeconds) * 1000 + stopPatienceMs
    const tooLate = sleep(patienceMs, 'too late' as const)
    const endings = await Promise.race([places, tooLate])
    if (endings === 'too late' || endings.some(({ code }) => code !== 0)) {
      log.error('some workers did not stop cleanly')
      endAtOnce()
    }
    log.info('stopped')
    process.exit(0)
  }
  onStopSignal((signal) => void stop(signal))
  onReload(log, () => {
    for (const worker of ready) worker.process.kill('SIGHUP')
    return true
  })
  const [speaker = first.worker] = ready
  tell(speaker, { kind: 'announce' })
}

/** It may be gone already; that is seen elsewhere. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

async function readyOrExit({ worker, ready, ending }: Started, log: Log): Promise<void> {
  const early = await Promise.race([ready, ending])
  if (early === 'ready') return
  // With 1 it has printed its reason.
  if (early.code !== 1) log.error({ worker: worker.process.pid, ...early }, 'a worker exited before it was ready')
  endAtOnce()
}

function untilNextMs(attempts: number): number {
  const now = systemClock()
  return Math.round(retryTime(now, attempts, pause).getTime() - now.getTime())
}

function endAtOnce(): never {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL')
  process.exit(1)
}
