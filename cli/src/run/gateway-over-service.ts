/** A connection to the gateway through the service's own port, as a WebSocket (GET /v4/gateway/tunnel). */
import { randomBytes } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { byteStreamOver } from '@sallyport/protocol/websocket-byte-stream'
import { acceptOf } from '@sallyport/protocol/websocket-messages'

const answerMs = 30_000

export function dialOverService(baseUrl: string, key: string): Promise<Duplex> {
  const url = new URL(`${baseUrl}/v4/gateway/tunnel`)
  const handshakeKey = randomBytes(16).toString('base64')
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    ...{ 'sec-websocket-key': handshakeKey, authorization: `Bearer ${key}` },
  }
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent: false, headers, timeout: answerMs })
    asking.once('upgrade', ({ headers: answered }: IncomingMessage, socket, head) => {
      socket.setTimeout(0)
      if (answered['sec-websocket-accept'] !== acceptOf(handshakeKey)) {
        socket.destroy()
        reject(failed('EPROTO'))
        return
      }
      if (head.length > 0) socket.unshift(head)
      resolve(byteStreamOver(socket, { isClient: true }))
    })
    asking.once('response', ({ statusCode = 0 }) => {
      asking.destroy()
      reject(failed(`HTTP ${statusCode}`))
    })
    asking.once('timeout', () => asking.destroy(failed('ETIMEDOUT')))
    asking.on('error', reject)
    asking.end()
  })
}

function failed(code: string): Error {
  return Object.assign(new Error(code), { code })
}
