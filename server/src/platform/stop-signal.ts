/** The members of AbortSignal that are used here. */
export interface StopSignal extends Pick<AbortSignal, 'aborted' | 'reason' | 'throwIfAborted'> {
  addEventListener: (event: 'abort', listener: () => void) => void
  removeEventListener: (event: 'abort', listener: () => void) => void
}

export interface Stop {
  signal: StopSignal
  /** Only the first reason counts. */
  abort: (reason: Error) => void
}

/** An AbortController for every call: creating Node's own and listening to it takes many times as long. */
export function createStop(): Stop {
  let listeners: (() => void)[] = []
  // Plain members: an object literal with getters costs 1 % of the CPU time of a call.
  const signal = {
    aborted: false,
    reason: undefined as Error | undefined,
    throwIfAborted: () => {
      if (signal.reason) throw signal.reason
    },
    addEventListener: (_event: 'abort', listener: () => void) => {
      listeners.push(listener)
    },
    removeEventListener: (_event: 'abort', listener: () => void) => {
      listeners = listeners.filter((one) => one !== listener)
    },
  }
  return {
    signal,
    abort: (reason) => {
      if (signal.aborted) return
      signal.aborted = true
      signal.reason = reason
      for (const listener of listeners) tell(listener)
      listeners = []
    },
  }
}

/** If a listener throws, the others are still called; the error then ends the process like any uncaught exception. */
function tell(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    process.nextTick(() => {
      throw error
    })
  }
}
