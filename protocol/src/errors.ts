/**
 * Every error code of the service, with its HTTP status and default message. A code never changes its meaning: clients
 * may switch on it.
 */
interface ErrorKind {
  status: number
  /** Says what to do. Can be overridden by a more specific message for the same code. */
  message: string
  /** Whether the same call may succeed later without changes. */
  retryable: boolean
}

export const errorKinds = {
  missing_field: { status: 400, retryable: false, message: 'A required member is missing. Add it.' },
  invalid_field: { status: 400, retryable: false, message: 'A member is malformed or unknown. Correct it.' },
  invalid_json: { status: 400, retryable: false, message: 'The request body is not valid UTF-8 JSON.' },
  invalid_url: { status: 400, retryable: false, message: 'The URL is not valid. Use an absolute https URL.' },
  invalid_http: { status: 400, retryable: false, message: 'The request is not valid HTTP.' },
  missing_recipient_public_key: {
    status: 400,
    retryable: false,
    message: 'This service encrypts results only to recipient_public_key. Add it.',
  },
  invalid_public_key: {
    status: 400,
    retryable: false,
    message: 'The key must be an RSA public key of 2048 to 4096 bits in PEM format.',
  },
  invalid_auth_envelope: {
    status: 400,
    retryable: false,
    message: "The auth_envelope is not valid. Encrypt a new one to the service's current public key.",
  },
  payload_invalid: {
    status: 400,
    retryable: false,
    message: 'The data_envelope or query_envelope cannot be decrypted, or its content is not valid.',
  },
  credential_refused: {
    status: 400,
    retryable: false,
    message: 'The provider did not accept this credential, so nothing was stored. Check it, or create a new one.',
  },
  aws_chunk_signing_unsupported: {
    status: 400,
    retryable: false,
    message:
      'The chunks of this body are signed, which only the holder of the AWS keys can do. Send the body unsigned: as a whole, or with STREAMING-UNSIGNED-PAYLOAD-TRAILER to S3.',
  },
  challenge_purpose_mismatch: {
    status: 400,
    retryable: false,
    message: 'The auth_envelope was created for a different action.',
  },
  challenge_nonce_mismatch: {
    status: 401,
    retryable: false,
    message: 'The nonce does not match this challenge. Decrypt the challenge again.',
  },
  unauthenticated: {
    status: 401,
    retryable: false,
    message: 'The request has no valid credential. Send one as "Authorization: Bearer …".',
  },
  forbidden: { status: 403, retryable: false, message: 'This credential does not allow that.' },
  cross_site_request: {
    status: 403,
    retryable: false,
    message: 'Cross-site requests are not allowed. Call from the console, or with a bearer token.',
  },
  address_not_allowed: {
    status: 403,
    retryable: false,
    message: 'The URL points to an address or port that is not allowed.',
  },
  device_key_required: {
    status: 403,
    retryable: false,
    message:
      'This requires a paired device that can approve. Pair one, or confirm this one from a device that can approve.',
  },
  device_signature_required: {
    status: 403,
    retryable: false,
    message: 'One of your devices has to sign this: request a challenge with it, and send challenge_id and signature.',
  },
  invalid_signature: {
    status: 403,
    retryable: false,
    message:
      "The signature is not valid. Sign the challenge's signing_input with the key of the device that requested it.",
  },
  grant_revoked: { status: 403, retryable: false, message: 'The grant was revoked. Request access again.' },
  grant_expired: { status: 403, retryable: false, message: 'The grant has expired. Request access again.' },
  paused: {
    status: 403,
    retryable: false,
    message:
      'All agents are paused: calls are refused until the person who paused them, or the operator, resumes them.',
  },
  grant_exhausted: { status: 403, retryable: false, message: 'The grant has no calls left. Request access again.' },
  host_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this host.' },
  method_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this method.' },
  path_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this path.' },
  access_not_allowed: {
    status: 403,
    retryable: false,
    message: 'The grant limits what calls may do, and this call does more.',
  },
  denied_by_exception: { status: 403, retryable: false, message: 'An exception of the grant denies this call.' },
  call_denied: {
    status: 403,
    retryable: false,
    message: 'A person denied this call. Do not make it again unless they ask for it.',
  },
  credential_endpoint: {
    status: 403,
    retryable: false,
    message:
      'This endpoint handles credentials or creates access that outlives the grant, so it is never called through this service. The account owner can call it at the provider.',
  },
  grant_not_found: { status: 404, retryable: false, message: 'This agent has no grant with this id.' },
  challenge_not_found: {
    status: 404,
    retryable: false,
    message: 'This client has no challenge with this id. Register its key again to get one.',
  },
  not_found: { status: 404, retryable: false, message: 'Not found, or not accessible with this credential.' },
  http_method_not_supported: {
    status: 405,
    retryable: false,
    message: 'This path does not support that method. The Allow header lists the supported ones.',
  },
  conflict: { status: 409, retryable: false, message: 'The current state of the record does not allow this.' },
  request_not_pending: {
    status: 409,
    retryable: false,
    message: 'The access request is no longer pending. Read it to see its status.',
  },
  call_not_waiting: {
    status: 409,
    retryable: false,
    message: 'The call is no longer waiting for a decision. Read it to see its status.',
  },
  decision_mismatch: {
    status: 409,
    retryable: false,
    message:
      'This is not the decision that the device signed. Send exactly the decision that the challenge was created for.',
  },
  challenge_already_used: {
    status: 409,
    retryable: false,
    message: 'The challenge has already been used. Request a new one.',
  },
  public_key_already_registered: {
    status: 409,
    retryable: false,
    message: 'This key belongs to another client, or was replaced by a newer one. Create a new key.',
  },
  slug_taken: {
    status: 409,
    retryable: false,
    message: 'Another provider already has this slug. Choose a different one.',
  },
  idempotency_conflict: {
    status: 409,
    retryable: false,
    message: 'This Idempotency-Key was used for another request. Choose a new key.',
  },
  grant_ambiguous: {
    status: 409,
    retryable: false,
    message:
      'Several grants of this key cover the call. Name one where the credential would stand: sp_grant_ and the id of the grant.',
  },
  outcome_unknown: {
    status: 409,
    retryable: false,
    message: 'A call with this Idempotency-Key was made and its outcome is unknown. It is not repeated.',
  },
  connection_needs_reauth: {
    status: 409,
    retryable: false,
    message: 'The provider no longer accepts this connection. The user has to connect it again.',
  },
  call_cancelled: {
    status: 409,
    retryable: false,
    message: 'The call was cancelled before it was made: by its agent, or because its grant ended.',
  },
  request_timeout: { status: 408, retryable: true, message: 'The request took too long to arrive.' },
  expired: { status: 410, retryable: false, message: 'This has expired. Request a new one.' },
  call_expired: {
    status: 410,
    retryable: false,
    message: 'Nobody decided on this call in time. It was not denied: tell the person, and make it again.',
  },
  challenge_expired: {
    status: 410,
    retryable: false,
    message: 'This challenge has expired. Register the key again to get a new one.',
  },
  body_too_large: { status: 413, retryable: false, message: 'The request body is too large for this endpoint.' },
  body_not_inspectable: {
    status: 413,
    retryable: false,
    message:
      'This body has to be inspected before it is sent, and is longer than 1 MiB. Send it in smaller parts. If it has no content-type, add the right one.',
  },
  unsupported_media_type: { status: 415, retryable: false, message: 'Send the body as application/json.' },
  range_not_supported: {
    status: 416,
    retryable: false,
    message: 'Parts of a response are not available from this provider. Request all of it, without a Range header.',
  },
  wrong_host: { status: 421, retryable: false, message: 'The Host header does not match this service.' },
  rate_limited: { status: 429, retryable: true, message: 'Too many requests. Wait for the time in Retry-After.' },
  too_many_streams: {
    status: 429,
    retryable: true,
    message: 'Too many event streams are open. Close some, or wait for the time in Retry-After.',
  },
  headers_too_large: { status: 431, retryable: false, message: 'The request headers are larger than 16 KiB.' },
  internal: { status: 500, retryable: false, message: 'Internal error. Quote the request_id when you report it.' },
  protocol_not_supported: {
    status: 501,
    retryable: false,
    message: 'Calls with this protocol are not supported.',
  },
  upstream_unreachable: { status: 502, retryable: true, message: 'The host could not be reached.' },
  upstream_tls_error: { status: 502, retryable: false, message: "The host's TLS certificate could not be verified." },
  upstream_body_too_large: {
    status: 502,
    retryable: false,
    message: 'The response is too large to buffer. Set "stream" to true.',
  },
  upstream_encoding_unsupported: {
    status: 502,
    retryable: false,
    message: 'The response has a content encoding that cannot be decoded, so it was not forwarded.',
  },
  provider_unavailable: {
    status: 502,
    retryable: true,
    message: 'The provider is not responding as expected. Try again later.',
  },
  not_ready: { status: 503, retryable: true, message: 'The service cannot reach its database. Try again later.' },
  approval_pending: {
    status: 503,
    retryable: true,
    message: 'This call waits for a person to approve it. Repeat it unchanged after the time in Retry-After.',
  },
  busy: { status: 503, retryable: true, message: 'The service is overloaded. Wait for the time in Retry-After.' },
  upstream_timeout: { status: 504, retryable: true, message: 'The host took too long to respond.' },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

export const errorCodes = Object.keys(errorKinds) as ErrorCode[]
