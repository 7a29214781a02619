/** What signals mean to the service. Without a listener most of them would end the process. */
import type { Log } from './platform/operations/log.ts'

/** SIGHUP comes when a terminal is closed; a service manager sends it to have something read again. */
const isOnTerminal = process.stdout.isTTY

/** Returns how to listen no longer. */
export function onStopSignal(stop: (signal: string) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', ...(isOnTerminal ? ['SIGHUP'] : [])]
  for (const signal of signals) process.on(signal, stop)
  return () => {
    for (const signal of signals) process.off(signal, stop)
  }
}

/** `reload` returns whether there was anything to read again. */
export function onReload(log: Log, reload: () => boolean): void {
  if (isOnTerminal) return
  process.on('SIGHUP', (signal) => {
    try {
      log.info({ signal }, reload() ? 'certificate reloaded' : 'no certificate to reload')
    } catch (error) {
      log.error({ err: error }, 'the certificate could not be reloaded; the old one stays in use')
    }
  })
}

/** Without a listener SIGUSR1 opens the process, which holds the master key, to a debugger. */
export function ignoreOtherSignals(log: Log): void {
  for (const signal of ['SIGUSR1', 'SIGUSR2']) {
    process.on(signal, () => {
      log.info({ signal }, 'signal ignored')
    })
  }
}
