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
  let reason: Error | undefined
  return {
    signal: {
      get aborted() {
        return reason !== undefined
      },
      get reason() {
        return reason
      },
      throwIfAborted: () => {
        if (reason) throw reason
      },
      addEventListener: (_event, listener) => {
        listeners.push(listener)
      },
      removeEventListener: (_event, listener) => {
        listeners = listeners.filter((one) => one !== listener)
      },
    },
    abort: (why) => {
      if (reason) return
      reason = why
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
