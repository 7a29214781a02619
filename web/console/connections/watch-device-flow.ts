/** Asks how far a device flow is, as often as the service says and no oftener, until it is over. */
import type { PollDeviceFlowReply } from '@sallyport/sdk'

export type FlowEnd = 'connected' | 'denied' | 'expired'

interface Watching {
  intervalSeconds: number
  poll: () => Promise<PollDeviceFlowReply>
  pause: (seconds: number) => Promise<void>
  /** Whether the same question may be answered later. */
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
      // The service itself says when the time is over: once it answers again.
      if (!mayPass(problem)) throw problem
    }
  }
}
