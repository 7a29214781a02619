/**
 * Every error code of the service, with its HTTP status and the sentence a caller gets with it.
 * A code is a promise: it never changes its meaning, and clients may switch on it.
 */
interface ErrorKind {
  status: number
  /** What to do about it. Rooms may give a more exact sentence; the code stays the same. */
  message: string
  /** True where the same call may succeed later without a change. */
  retryable: boolean
}

export const errorKinds = {
  missing_field: { status: 400, retryable: false, message: 'A required member is missing. Add it.' },
  invalid_field: { status: 400, retryable: false, message: 'A member is malformed or not known here. Correct it.' },
  invalid_json: { status: 400, retryable: false, message: 'The body is not valid JSON in UTF-8.' },
  invalid_url: { status: 400, retryable: false, message: 'The URL can not be used. Give a plain https URL.' },
  invalid_http: { status: 400, retryable: false, message: 'The request is not valid HTTP.' },
  missing_recipient_public_key: {
    status: 400,
    retryable: false,
    message: 'This service encrypts a result to recipient_public_key alone. Add it.',
  },
  invalid_public_key: {
    status: 400,
    retryable: false,
    message: 'This is no RSA public key of 2048 to 4096 bits in PEM.',
  },
  invalid_auth_envelope: {
    status: 400,
    retryable: false,
    message: "The auth_envelope can not be used. Encrypt a fresh one to the service's current public key.",
  },
  payload_invalid: {
    status: 400,
    retryable: false,
    message: 'The data_envelope or query_envelope can not be opened, or what it holds breaks the rules.',
  },
  challenge_purpose_mismatch: {
    status: 400,
    retryable: false,
    message: 'The auth_envelope was made for another action than this one.',
  },
  challenge_nonce_mismatch: {
    status: 401,
    retryable: false,
    message: 'The nonce is not the one of this challenge. Decrypt the challenge again.',
  },
  unauthenticated: {
    status: 401,
    retryable: false,
    message: 'No valid credential came with the call. Send one as "Authorization: Bearer …".',
  },
  forbidden: { status: 403, retryable: false, message: 'This credential may not do that.' },
  cross_site_request: {
    status: 403,
    retryable: false,
    message: 'A page of another site may not make this call. Call from the console, or with a bearer token.',
  },
  address_not_allowed: {
    status: 403,
    retryable: false,
    message: 'The URL leads to an address or a port that may not be reached from here.',
  },
  device_key_required: {
    status: 403,
    retryable: false,
    message: 'This needs a paired device whose key may decide. Pair one, or let an enrolled one agree to it.',
  },
  device_signature_required: {
    status: 403,
    retryable: false,
    message:
      'This has to be signed by one of your devices: let it ask for a challenge, and send challenge_id and signature.',
  },
  invalid_signature: {
    status: 403,
    retryable: false,
    message:
      "The signature does not fit. Sign the challenge's signing_input with the key of the device that asked for it.",
  },
  grant_revoked: { status: 403, retryable: false, message: 'The grant was revoked. Ask for access again.' },
  grant_expired: { status: 403, retryable: false, message: 'The grant has expired. Ask for access again.' },
  grant_exhausted: { status: 403, retryable: false, message: 'The grant has no calls left. Ask for access again.' },
  host_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this host.' },
  method_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this method.' },
  path_not_allowed: { status: 403, retryable: false, message: 'The grant does not cover this path.' },
  credential_endpoint: {
    status: 403,
    retryable: false,
    message:
      'This call is about credentials, or leaves access behind that outlives the grant. It is never made through here. The owner of the account can make it at the provider.',
  },
  grant_not_found: { status: 404, retryable: false, message: 'This agent has no such grant.' },
  challenge_not_found: {
    status: 404,
    retryable: false,
    message: 'This client has no such challenge. Register its key again to get one.',
  },
  not_found: { status: 404, retryable: false, message: 'There is nothing here, or it is not yours.' },
  http_method_not_supported: {
    status: 405,
    retryable: false,
    message: 'This path does not take that method. The Allow header lists those it takes.',
  },
  conflict: { status: 409, retryable: false, message: 'The record is in a state that does not admit this.' },
  request_not_pending: {
    status: 409,
    retryable: false,
    message: 'The access request does not wait for an answer any more. Read it to see what became of it.',
  },
  decision_mismatch: {
    status: 409,
    retryable: false,
    message: 'This is not the decision that the device signed. Send exactly the one its challenge was made for.',
  },
  challenge_already_used: {
    status: 409,
    retryable: false,
    message: 'The challenge was used already. Ask for a new one.',
  },
  public_key_already_registered: {
    status: 409,
    retryable: false,
    message: 'This key belongs to another client, or was replaced by a newer one. Make a new key.',
  },
  slug_taken: { status: 409, retryable: false, message: 'A provider has this slug already. Choose another.' },
  idempotency_conflict: {
    status: 409,
    retryable: false,
    message: 'This Idempotency-Key was used for another request. Choose a new key.',
  },
  outcome_unknown: {
    status: 409,
    retryable: false,
    message: 'A call with this Idempotency-Key was made, and how it ended is not known. It is not made again.',
  },
  connection_needs_reauth: {
    status: 409,
    retryable: false,
    message: 'The provider no longer accepts this connection. Its user has to connect it again.',
  },
  request_timeout: { status: 408, retryable: true, message: 'The request took too long to arrive.' },
  expired: { status: 410, retryable: false, message: 'Its time is over. Ask for a new one.' },
  challenge_expired: {
    status: 410,
    retryable: false,
    message: 'The time of this challenge is over. Register the key again to get a new one.',
  },
  body_too_large: { status: 413, retryable: false, message: 'The body is larger than this path takes.' },
  unsupported_media_type: { status: 415, retryable: false, message: 'Send the body as application/json.' },
  wrong_host: { status: 421, retryable: false, message: 'The service does not answer to this Host.' },
  rate_limited: { status: 429, retryable: true, message: 'Too many calls. Wait as Retry-After says.' },
  too_many_streams: {
    status: 429,
    retryable: true,
    message: 'Too many streams of events are open. Close some, or wait as Retry-After says.',
  },
  headers_too_large: { status: 431, retryable: false, message: 'The request headers are larger than 16 KiB.' },
  internal: { status: 500, retryable: false, message: 'Something went wrong on our side. Quote the request_id.' },
  upstream_unreachable: { status: 502, retryable: true, message: 'The host could not be reached.' },
  upstream_tls_error: { status: 502, retryable: false, message: 'The host did not prove by TLS that it is the one.' },
  upstream_body_too_large: { status: 502, retryable: false, message: 'The answer is larger than is taken in whole.' },
  upstream_encoding_unsupported: {
    status: 502,
    retryable: false,
    message: 'The answer is encoded in a way that can not be read here, so it is not passed on.',
  },
  provider_unavailable: {
    status: 502,
    retryable: true,
    message: 'The provider does not answer as it should. Try again.',
  },
  not_ready: { status: 503, retryable: true, message: 'The service can not reach its database just now. Try again.' },
  busy: { status: 503, retryable: true, message: 'The service has more to do than it can. Wait as Retry-After says.' },
  upstream_timeout: { status: 504, retryable: true, message: 'The host took too long to answer.' },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

export const errorCodes = Object.keys(errorKinds) as ErrorCode[]
