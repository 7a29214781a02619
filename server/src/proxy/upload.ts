/** A request body that is passed on as it arrives, in bounded memory. */
import type { ProxyBody } from '@sallyport/protocol/proxy'
import { ServiceError } from '../platform/errors.ts'
import { wrongLength } from '../platform/http/streamed-bodies.ts'
import type { StreamedBody } from '../platform/http/streamed-bodies.ts'

export type Upload = StreamedBody

/** Throws if the call has members that a streamed body has no use for, or that only a streamed body has. */
export function uploadOf(call: ProxyBody, upload: Upload | undefined, key: string | undefined): Upload | undefined {
  if (!upload) {
    if (call.content_length !== undefined) throw notWith('content_length', 'Only a streamed body has a content_length')
    return undefined
  }
  const other = (['body', 'body_base64', 'dry_run'] as const).find((name) => call[name] !== undefined)
  if (other !== undefined) throw notWith(other, `A call with a streamed body has no "${other}"`)
  // It would have to be known whole before the key can be claimed.
  if (key !== undefined) {
    throw notWith('Idempotency-Key', 'A call with a streamed body can not have an Idempotency-Key')
  }
  if (call.content_length === undefined) return upload
  if (call.content_length !== (upload.length ?? call.content_length)) throw wrongLength()
  upload.length = call.content_length
  return upload
}

function notWith(field: string, what: string): ServiceError {
  return new ServiceError('invalid_field', { field, message: `${what}. Omit it.` })
}
