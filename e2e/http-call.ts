import { readFileSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import type { Agent, IncomingHttpHeaders } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { text as readText } from 'node:stream/consumers'

export interface Call {
  token?: string | undefined
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: any
  text: string
}

/** Connects to loopback, whatever host the base URL has, and sends that host as a client would. */
export async function callService(
  env: Record<string, string>,
  agent: Agent,
  method: string,
  path: string,
  { token, body, headers = {} }: Call,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const certificate = env['SALLYPORT_TLS_CERT_FILE']
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const base = new URL(env['SALLYPORT_BASE_URL'] ?? `http://localhost:${env['PORT'] ?? ''}`)
  const options = {
    host: '127.0.0.1',
    port: Number(env['PORT']),
    method,
    path,
    headers: {
      host: base.host,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
      ...headers,
    },
  }
  const request = certificate
    ? tlsRequest({ ...options, servername: base.hostname, ca: readFileSync(certificate) })
    : plainRequest({ ...options, agent })
  request.on('error', reject)
  request.on('response', (response) => {
    readText(response)
      .then((text) => {
        const isJson = String(response.headers['content-type']).startsWith('application/json')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined,
          text,
        })
      })
      .catch(reject)
  })
  request.end(payload)
  return promise
}
