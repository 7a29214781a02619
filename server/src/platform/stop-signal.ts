/** The part of an AbortSignal that we use. */
export interface StopSignal extends Pick<AbortSignal, 'aborted' | 'reason' | 'throwIfAborted'> {
  addEventListener: (event: 'abort', listener: () => void) => void
  removeEventListener: (event: 'abort', listener: () => void) => void
}

export interface Stop {
  signal: StopSignal
  /** The first reason counts. */
  abort: (reason: Error) => void
}

/** An AbortController for what is made with every call: to make and to listen to Node's own takes many times as long. */
export function createStop(): Stop {
  let listeners: (() => void)[] = []
  // Not by getters: V8 makes those one by one, for a hundredth of what a call takes.
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

/** One that fails keeps nobody else from being told; it ends the process, as anything does that nobody expected. */
function tell(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    process.nextTick(() => {
      throw error
    })
  }
}
