/**
 * The primary of several processes that share the port (SALLYPORT_WORKERS). It serves no requests. It starts workers,
 * replaces those that exit or get stuck, forwards stops and collects metrics.
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
import { heartbeatMs, watchHeartbeats } from './worker-heartbeats.ts'
import type { Crew, FromWorker, ToWorker } from './worker-link.ts'

/** A worker that ran this long started successfully. */
const steadyMs = 30_000
const pause = { firstMs: 500, longestMs: 30_000 }
/** Time for a worker to stop after its calls. Longer than its own timeouts. */
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

/** Resolves when all workers are ready. Exits if one can't start, which has then printed why. */
export async function runWorkers(
  config: Pick<Config, 'workers' | 'workerStuckSeconds' | 'stopSeconds' | 'drainSeconds'>,
  log: Log,
): Promise<void> {
  let isStopping = false
  const stopping = new AbortController()
  const ready = new Set<Worker>()
  const figures = gatherFigures({ workers: () => [...ready].filter((one) => !heartbeats.isSilent(one)), tell })
  const crew: Crew = { silent: 0, replaced: 0 }
  const tellCrew = () => {
    for (const worker of ready) tell(worker, { kind: 'crew', crew })
  }
  const heartbeats = watchHeartbeats<Worker>({
    stuckMs: config.workerStuckSeconds === 0 ? Infinity : config.workerStuckSeconds * 1000,
    onStuck: ({ process: stuck }, silentMs) => {
      log.error({ worker: stuck.pid, silent_ms: Math.round(silentMs) }, 'a worker is stuck and is being killed')
      // It would not see any other signal.
      stuck.kill('SIGKILL')
    },
    onChange: (silent) => {
      if (silent > crew.silent) log.warn({ silent }, 'a worker gives no sign of life')
      crew.silent = silent
      tellCrew()
    },
  })
  watch(heartbeats.tick)

  const start = (): Started => {
    const worker = cluster.fork()
    heartbeats.started(worker)
    const becameReady = Promise.withResolvers<'ready'>()
    worker.on('message', (message: FromWorker) => {
      // What it said last may be read after its exit.
      if (worker.isDead()) return
      heartbeats.heard(worker)
      if (message.kind === 'alive') return
      if (message.kind !== 'ready') {
        figures.take(worker, message)
        return
      }
      ready.add(worker)
      tell(worker, { kind: 'crew', crew })
      // The stop began before this worker was ready.
      if (isStopping) tell(worker, { kind: 'stop' })
      becameReady.resolve('ready')
    })
    const ending = once(worker, 'exit').then(([code, signal]: (number | string | null)[]) => {
      ready.delete(worker)
      figures.leave(worker)
      heartbeats.left(worker)
      return { code, signal } as Ending
    })
    return { worker, ready: becameReady.promise, ending }
  }

  /** Keeps one worker running as long as the service runs. Resolves to how the last one ended. */
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
      crew.replaced++
      tellCrew()
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return { code: 0, signal: null }
      ;({ worker, ending } = start())
    }
  }

  // Start one first: an error that prevents the start is then reported once, not by every worker.
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
  onReload((signal) => {
    log.info({ signal }, 'passed on to the workers')
    for (const worker of ready) worker.process.kill('SIGHUP')
  })
  const [speaker = first.worker] = ready
  tell(speaker, { kind: 'announce' })
}

function watch(tick: (elapsedMs: number) => void): void {
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    tick(now - last)
    last = now
  }, heartbeatMs).unref()
}

/** The worker may have exited, which is handled elsewhere. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

async function readyOrExit({ worker, ready, ending }: Started, log: Log): Promise<void> {
  const early = await Promise.race([ready, ending])
  if (early === 'ready') return
  // With exit code 1 it has printed the reason itself.
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
