import { SallyportError } from './errors.ts'
import type { WantedAccess } from './errors.ts'
import { readBounded } from './read-bounded.ts'
import type { ErrorBody } from './wire.ts'

const maxErrorBytes = 256 * 1024

/** Turns an error response of the service, or of a proxy in front of it, into an error. */
export async function errorIn(response: Response): Promise<SallyportError> {
  const { status, headers } = response
  const retryAfterSeconds = secondsIn(headers.get('retry-after'))
  const error = parsed(await readBounded(response, maxErrorBytes))
  if (error === undefined) {
    const retryable = [408, 429, 502, 503, 504].includes(status)
    const requestId = headers.get('x-request-id') ?? undefined
    const facts = { status, retryable, requestId, retryAfterSeconds }
    return new SallyportError('unexpected_answer', `Unexpected response with status ${status}.`, facts)
  }
  return new SallyportError(error.code, error.message, {
    status,
    retryable: (error.retryable as unknown) === true,
    requestId: textIn(error.request_id),
    field: textIn(error.field),
    retryAfterSeconds,
    accessRequest: isWanted(error.access_request) ? error.access_request : undefined,
    upstreamStatus: Number.isInteger(error.upstream_status) ? error.upstream_status : undefined,
  })
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Checked, because callers pass it on to `requestAccess` as it is. */
function isWanted(value: unknown): value is WantedAccess {
  const { provider, hosts, methods } = (value ?? {}) as Record<string, unknown>
  const isTexts = (list: unknown) => Array.isArray(list) && list.every((one) => typeof one === 'string')
  return typeof provider === 'string' && isTexts(hosts) && isTexts(methods)
}

function parsed(text: string): ErrorBody['error'] | undefined {
  try {
    const { error } = JSON.parse(text) as Partial<ErrorBody>
    return typeof error?.code === 'string' && typeof error.message === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function secondsIn(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}
