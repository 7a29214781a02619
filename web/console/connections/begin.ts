/** Starts connecting or reconnecting an account: the service returns where to go. */
import type { StartDeviceFlowReply } from '@sallyport/sdk'
import { service } from '../service.ts'

export interface Wish {
  way: 'browser' | 'device'
  provider: { provider_id: string } | { provider_slug: string }
  providerName: string
  /** The connection to reconnect. Without it an account is added. */
  connectionId?: string
}

interface About {
  wish: Wish
  /** Shown before the user continues. */
  warning: string | null
  isTrusted: boolean
}

export type Begun = About & ({ way: 'browser'; url: string } | { way: 'device'; flow: StartDeviceFlowReply })

/** `returnTo`: the view that the browser returns to. */
export async function begin(wish: Wish, returnTo: string): Promise<Begun> {
  const { way, provider, connectionId } = wish
  const which = { ...provider, ...(connectionId !== undefined && { connection_id: connectionId }) }
  if (way === 'device') {
    const flow = await service.connections.startDeviceFlow(which)
    return { wish, way, flow, warning: flow.warning, isTrusted: false }
  }
  const { authorization_url: url, warning } = await service.connections.start({
    ...which,
    redirect_after: returnTo,
  })
  return { wish, way, url, warning, isTrusted: false }
}
