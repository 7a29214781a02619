/** What bounds proxied calls: size, time and load. */
import { integer } from './setting-kinds.ts'
import { setting } from './settings.ts'

export const proxySettings = {
  proxyBodyBytes: setting(
    'SALLYPORT_PROXY_BODY_BYTES',
    '10485760',
    'The largest body of a proxy call',
    integer(1024, 104_857_600),
  ),
  proxyAnswerBytes: setting(
    'SALLYPORT_PROXY_ANSWER_BYTES',
    '10485760',
    'The largest answer that is handed over whole; larger ones have to be streamed',
    integer(1024, 104_857_600),
  ),
  proxyUnsentBytesPerAgent: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES_PER_AGENT',
    '67108864',
    'The most that whole answers to one agent may take until they are sent, in each process',
    integer(1024, 100_000_000_000),
  ),
  proxyUnsentBytes: setting(
    'SALLYPORT_PROXY_UNSENT_BYTES',
    '268435456',
    'The same for all agents together; a quarter of it in the sandbox',
    integer(1024, 100_000_000_000),
  ),
  proxyFirstByteSeconds: setting(
    'SALLYPORT_PROXY_FIRST_BYTE_SECONDS',
    '30',
    'How long an upstream may take to begin its answer, unless the call says timeout_ms',
    integer(1, 300),
  ),
  proxyCallSeconds: setting(
    'SALLYPORT_PROXY_CALL_SECONDS',
    '60',
    'How long a whole call may take, unless it says timeout_ms',
    integer(1, 300),
  ),
  proxyIdleSeconds: setting(
    'SALLYPORT_PROXY_IDLE_SECONDS',
    '60',
    'How long a streamed answer may be silent',
    integer(1, 3600),
  ),
  proxyRatePerAgent: setting(
    'SALLYPORT_PROXY_RATE_PER_AGENT',
    '20',
    'Calls a second for one agent; 0 for no limit',
    integer(0, 1_000_000),
  ),
  proxyBurstPerAgent: setting(
    'SALLYPORT_PROXY_BURST_PER_AGENT',
    '200',
    'Calls of one agent that may come at once',
    integer(1, 1_000_000),
  ),
  proxyInFlightPerAgent: setting(
    'SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT',
    '50',
    'Calls of one agent that may be under way, in each process; 0 for no limit',
    integer(0, 1_000_000),
  ),
}
