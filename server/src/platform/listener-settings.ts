import { integer, optional } from './setting-kinds.ts'
import { setting } from './settings.ts'

/** How long connections and calls may take, and what a stop leaves them. */
export const listenerSettings = {
  headersTimeoutSeconds: setting(
    'SALLYPORT_HEADERS_TIMEOUT_SECONDS',
    '10',
    'How long a client may take to send its headers',
    integer(1, 300),
  ),
  requestTimeoutSeconds: setting(
    'SALLYPORT_REQUEST_TIMEOUT_SECONDS',
    '60',
    'How long a client may take to send a whole request',
    integer(1, 3600),
  ),
  connectionIdleSeconds: setting(
    'SALLYPORT_CONNECTION_IDLE_SECONDS',
    '360',
    'How long a connection may stand still while a call is worked on',
    integer(1, 3600),
  ),
  unreadAnswerSeconds: setting(
    'SALLYPORT_UNREAD_ANSWER_SECONDS',
    '60',
    'How long a client may read nothing of an answer before its connection is closed',
    integer(1, 3600),
  ),
  stopSeconds: setting(
    'SALLYPORT_STOP_SECONDS',
    '10',
    'How long calls in flight may go on after a stop signal',
    integer(0, 300),
  ),
  keepAliveSeconds: setting(
    'SALLYPORT_KEEP_ALIVE_SECONDS',
    '65',
    'How long a connection without a call is kept open; longer than the load balancer in front keeps it',
    integer(1, 3600),
  ),
  drainSeconds: setting(
    'SALLYPORT_DRAIN_SECONDS',
    null,
    'How long the service goes on serving after a stop signal, while /readyz says 503; by default 5 with SALLYPORT_TRUST_PROXY, else 0',
    optional(integer(0, 300)),
  ),
}
