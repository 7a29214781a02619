import { useEffect, useEffectEvent, useState } from 'react'
import { SallyportError } from '@sallyport/sdk'
import type { StartDeviceFlowReply } from '@sallyport/sdk'
import { service } from '../service.ts'
import { watchDeviceFlow } from './watch-device-flow.ts'
import type { FlowEnd } from './watch-device-flow.ts'

export type FlowState =
  | { status: 'waiting' }
  | { status: Exclude<FlowEnd, 'connected'> }
  | { status: 'failed'; problem: unknown }

/** Follows a device flow while it is shown, even while the user enters the code in another tab. */
export function useDeviceFlow(flow: StartDeviceFlowReply, onConnected: () => void): FlowState {
  const { device_flow_id: id, interval } = flow
  const [state, setState] = useState<FlowState>({ status: 'waiting' })
  const connected = useEffectEvent(onConnected)
  useEffect(() => {
    const { signal, abort } = leaving()
    watchDeviceFlow({
      intervalSeconds: interval,
      poll: () => service.connections.pollDeviceFlow(id, { signal }),
      pause: (seconds) => pause(seconds, signal),
      mayPass: (problem) => problem instanceof SallyportError && problem.retryable,
    }).then(
      (status) => {
        if (signal.aborted) return
        if (status === 'connected') connected()
        else setState({ status })
      },
      (problem: unknown) => {
        if (!signal.aborted) setState({ status: 'failed', problem })
      },
    )
    return abort
  }, [id, interval])
  return state
}

function leaving(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return {
    signal: controller.signal,
    abort: () => {
      controller.abort()
    },
  }
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('left'))
    })
  })
}
