/** Polls a device flow, no more often than the service says, until it ends. */
import type { PollDeviceFlowReply } from '@sallyport/sdk'

export type FlowEnd = 'connected' | 'denied' | 'expired'

interface Watching {
  intervalSeconds: number
  poll: () => Promise<PollDeviceFlowReply>
  pause: (seconds: number) => Promise<void>
  /** Whether the error is temporary. */
  mayPass: (problem: unknown) => boolean
}

export async function watchDeviceFlow({ intervalSeconds, poll, pause, mayPass }: Watching): Promise<FlowEnd> {
  for (let interval = intervalSeconds; ;) {
    await pause(interval)
    try {
      const reply = await poll()
      interval = reply.interval
      if (reply.status !== 'pending' && reply.status !== 'slow_down') return reply.status
    } catch (problem) {
      // Expiry is reported by the service once it responds again.
      if (!mayPass(problem)) throw problem
    }
  }
}
