/**
 * `Expect: 100-continue` (RFC 9110 §10.1.1): a client asks before it sends its body. It is told to go on once something
 * reads the body, so what is refused before that is never sent.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

const held = Symbol('100 Continue is not sent yet')

type Asking = IncomingMessage & { [held]?: ServerResponse | undefined }

/** For every server whose requests are routed here. */
export function holdContinue<S extends Pick<Server, 'on' | 'emit'>>(server: S): S {
  server.on('checkContinue', (request: Asking, response: ServerResponse) => {
    const { headers } = request
    if ((headers['content-length'] ?? headers['transfer-encoding']) !== undefined) request[held] = response
    server.emit('request', request, response)
  })
  return server
}

export function sendContinue(request: Asking): void {
  const response = request[held]
  request[held] = undefined
  if (response && !response.headersSent && !response.destroyed) response.writeContinue()
}

/** The client still asks. Whether it sends its body after all can't be known. */
export function isContinueHeld(request: Asking): boolean {
  return request[held] !== undefined
}
