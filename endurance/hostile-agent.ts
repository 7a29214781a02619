/** Attacks of one approved agent: the calls to the provider's API that cost the service most. */
import { rawRequest } from './attack.ts'
import type { Attacker, Attacks } from './attack.ts'
import { paths } from './upstream.ts'

const mebibyte = 1024 ** 2

let serial = 0

/** Each call has a unique path, so that its record can be found. */
function callBody({ approved, upstreamHost }: Attacker, path: string, more: object = {}): object {
  const url = `https://${upstreamHost}${path}/hostile-${process.pid}-${++serial}`
  return { grant_id: approved.grantId, method: 'GET', url, ...more }
}

async function proxied(attacker: Attacker, path: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = callBody(attacker, path, more)
  return (await attacker.call('POST', '/v4/proxy', { token: attacker.approved.token, body, headers })).status
}

function rawCall(attacker: Attacker, path: string, more: object = {}): string {
  const authorization = `Authorization: Bearer ${attacker.approved.token}`
  return rawRequest(
    attacker,
    'POST /v4/proxy HTTP/1.1',
    [authorization],
    JSON.stringify(callBody(attacker, path, more)),
  )
}

export const hostileAgentsAttacks: Attacks = {
  'not reading answers of 10 MiB': (attacker) =>
    attacker.hold(30, (socket) => {
      socket.pause()
      socket.write(rawCall(attacker, paths.unprintable))
    }),
  'not reading streams': (attacker) =>
    attacker.hold(5, (socket) => {
      socket.pause()
      socket.write(rawCall(attacker, paths.endless, { stream: true }))
    }),
  'reading streams slowly': (attacker) =>
    attacker.hold(5, (socket) => {
      socket.pause()
      const timer = setInterval(() => void socket.read(1024), 1000)
      socket.once('close', () => {
        clearInterval(timer)
      })
      socket.write(rawCall(attacker, paths.endless, { stream: true }))
    }),
  'cutting streams off': (attacker) =>
    attacker.repeat(2, async () => {
      const socket = await attacker.open()
      socket.write(rawCall(attacker, paths.endless, { stream: true }))
      setTimeout(() => socket.resetAndDestroy(), 200)
      return 'cut'
    }),
  'large answers': (attacker) => attacker.repeat(1, () => proxied(attacker, paths.large)),
  'answers full of escapes': (attacker) => attacker.repeat(2, () => proxied(attacker, paths.escapes)),
  'bodies full of escapes': (attacker) =>
    attacker.repeat(1, () => {
      const body = `{"a":"${'\\u0061\\u0042'.repeat(mebibyte / 12)}"}`
      return proxied(attacker, paths.small, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    }),
  'bodies of blanks': (attacker) =>
    attacker.repeat(0.5, () =>
      proxied(attacker, paths.small, {
        method: 'POST',
        body: `method ;name=${' '.repeat(4 * mebibyte)}`,
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      }),
    ),
  'deep bodies': (attacker) =>
    attacker.repeat(2, async () => {
      const { approved } = attacker
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
      const text = JSON.stringify(callBody(attacker, paths.small, { method: 'POST', body: 0 })).replace(
        '"body":0',
        `"body":${deep}`,
      )
      return (await attacker.call('POST', '/v4/proxy', { token: approved.token, body: text })).status
    }),
  'sending bodies slowly': (attacker) =>
    attacker.hold(5, (socket) => {
      const { token } = attacker.approved
      const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 10485760']
      socket.write(rawRequest(attacker, 'POST /v4/proxy HTTP/1.1', headers))
      const timer = setInterval(() => socket.write(' '.repeat(1000)), 1000)
      socket.once('close', () => {
        clearInterval(timer)
      })
    }),
  'calls beyond its rate': (attacker) => attacker.repeat(60, () => proxied(attacker, paths.small)),
  'refused calls': (attacker) =>
    attacker.repeat(40, (index) => proxied(attacker, paths.small, { url: `https://other.example/${index}` })),
  'idempotency keys': (attacker) =>
    attacker.repeat(5, (index) =>
      proxied(attacker, paths.large, {}, { 'idempotency-key': `${process.pid}-${index - (index % 3)}` }),
    ),
  'searching its record': ({ approved, call, repeat }) =>
    repeat(10, async (index) => {
      const path = [
        '/v4/audit?q=nothing',
        '/v4/audit?outcome=failed',
        '/v4/audit?format=ndjson',
        '/v4/audit?q=path%20small',
      ]
      return (await call('GET', path[index % path.length] ?? '', { token: approved.token })).status
    }),
  'rotating its token': ({ approved, call, repeat }) =>
    repeat(0.5, async () => {
      const rotated = await call('POST', '/v4/agents/rotate-token', { token: approved.token })
      if (rotated.status === 200) approved.token = (rotated.body as { access_token: string }).access_token
      return rotated.status
    }),
}
