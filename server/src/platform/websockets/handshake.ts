/** The opening handshake of WebSockets (RFC 6455 §4), seen from both sides. No extension is ever agreed on. */
import { randomBytes } from 'node:crypto'
import { acceptOf } from '@sallyport/protocol/websocket-messages'

type HeaderPairs = readonly (readonly [name: string, value: string])[]

const ofHandshake = /^sec[-_]websocket[-_]/

/** What to tell a client whose handshake can't be answered. Undefined if it can. Names are in lower case. */
export function faultOf(headers: ReadonlyMap<string, string>): string | undefined {
  if (headers.get('sec-websocket-version') !== '13') return 'The version of WebSocket has to be 13.'
  const isKey = /^[A-Za-z0-9+/]{22}==$/.test(headers.get('sec-websocket-key') ?? '')
  return isKey ? undefined : 'Sec-WebSocket-Key is missing or malformed.'
}

/** For a handshake of our own. Of the client's only the subprotocols are passed on. */
export function handshakeHeaders(headers: ReadonlyMap<string, string>): [name: string, value: string][] {
  const wanted = headers.get('sec-websocket-protocol')
  return [
    ...[...headers].filter(([name]) => !ofHandshake.test(name)),
    ['sec-websocket-version', '13'],
    ['sec-websocket-key', randomBytes(16).toString('base64')],
    ...(wanted === undefined ? [] : [['sec-websocket-protocol', wanted] satisfies [string, string]]),
  ]
}

/** What is wrong with a server's 101. */
export function faultOfAnswer(sent: HeaderPairs, received: HeaderPairs): string | undefined {
  const answered = (name: string) => valuesOf(received, name)
  const [key = ''] = valuesOf(sent, 'sec-websocket-key')
  const offered = valuesOf(sent, 'sec-websocket-protocol').flatMap((list) => list.split(',').map((one) => one.trim()))
  const chosen = answered('sec-websocket-protocol')
  if (answered('upgrade').join().toLowerCase() !== 'websocket') return 'another protocol'
  if (answered('sec-websocket-accept').join() !== acceptOf(key)) return 'a wrong Sec-WebSocket-Accept'
  if (answered('sec-websocket-extensions').length > 0) return 'an extension'
  if (chosen.length > 1 || chosen.some((one) => !offered.includes(one))) return 'a subprotocol that was not offered'
  return undefined
}

/** Of the 101 for the client. */
export function answerHeaders(key: string, received: HeaderPairs): [name: string, value: string][] {
  const [chosen] = valuesOf(received, 'sec-websocket-protocol')
  return [
    ['upgrade', 'websocket'],
    ['connection', 'Upgrade'],
    ['sec-websocket-accept', acceptOf(key)],
    ...(chosen === undefined ? [] : [['sec-websocket-protocol', chosen] satisfies [string, string]]),
  ]
}

function valuesOf(pairs: HeaderPairs, name: string): string[] {
  return pairs.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value.trim())
}
