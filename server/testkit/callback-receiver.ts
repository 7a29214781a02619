/** A real receiver of callbacks on loopback, over TLS, with the faults that receivers have. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { sharedAuthority } from './certificates.ts'

/**
 * `holds`: responds when released. `dies`: disconnects in the middle of its response. `hangs up`: disconnects without
 * one. `trickles`: status 2xx, and a body that never ends.
 */
export type ReceiverFault = 'holds' | 'dies' | 'hangs up' | 'trickles' | { status: number; headers?: object }

export interface Received {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

export interface CallbackReceiver {
  url: URL
  /** For SALLYPORT_EGRESS_ALLOW. */
  host: string
  caFile: string
  /** All requests, whatever the response was. */
  received: Received[]
  /** The fault from now on; undefined for 204. */
  answer: (fault: ReceiverFault | undefined) => void
  /** How many requests are being held. */
  held: () => number
  /** Responds to the held requests, and holds none from now on. */
  letGo: () => void
  goDown: () => Promise<void>
  comeBack: () => Promise<void>
}

export async function startCallbackReceiver(
  t: Pick<TestContext, 'after'>,
  { names = ['localhost'], fault: initial }: { names?: string[]; fault?: ReceiverFault } = {},
): Promise<CallbackReceiver> {
  const authority = await sharedAuthority()
  const received: Received[] = []
  const held = new Set<ServerResponse>()
  let fault = initial

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const { method = '', url: path = '' } = request
    received.push({ method, path, headers: request.headers as Record<string, string>, body })
    if (fault === 'holds') {
      held.add(response)
      response.on('close', () => held.delete(response))
    } else misbehave(response, fault)
  }
  const server = createServer(await authority.issue({ names }), (request, response) => {
    // The caller may disconnect while the body is read.
    take(request, response).catch(() => response.destroy())
  })
  server.on('tlsClientError', () => undefined)
  const comeBack = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const goDown = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  await comeBack(0)
  t.after(goDown)
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`https://localhost:${port}/hooks?for=approvals`),
    host: `localhost:${port}`,
    caFile: authority.caFile,
    received,
    answer: (next) => {
      fault = next
    },
    held: () => held.size,
    letGo: () => {
      fault = undefined
      for (const response of held) response.writeHead(204).end()
    },
    goDown,
    comeBack: () => comeBack(port),
  }
}

function misbehave(response: ServerResponse, fault: Exclude<ReceiverFault, 'holds'> | undefined): void {
  if (fault === 'hangs up') response.destroy()
  else if (fault === 'dies') {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('half an ans', () => response.destroy())
  } else if (fault === 'trickles') {
    const timer = setInterval(() => response.write(Buffer.alloc(16_384)), 5)
    response.on('close', () => {
      clearInterval(timer)
    })
  } else response.writeHead(fault?.status ?? 204, { ...fault?.headers }).end()
}
