/** Signal handlers of the service. Most signals would otherwise end the process. */
import type { Log } from './platform/operations/log.ts'

/** On a terminal, SIGHUP means that it was closed. Otherwise a service manager sends it to reload. */
const isOnTerminal = process.stdout.isTTY

/** Returns a function that removes the listeners. */
export function onStopSignal(stop: (signal: string) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', ...(isOnTerminal ? ['SIGHUP'] : [])]
  for (const signal of signals) process.on(signal, stop)
  return () => {
    for (const signal of signals) process.off(signal, stop)
  }
}

export function onReload(reload: (signal: string) => void): void {
  if (!isOnTerminal) process.on('SIGHUP', reload)
}

/** Without a listener, SIGUSR1 opens a debugger on the process, which has the master key in memory. */
export function ignoreOtherSignals(log: Log): void {
  for (const signal of ['SIGUSR1', 'SIGUSR2']) {
    process.on(signal, () => {
      log.info({ signal }, 'signal ignored')
    })
  }
}
