/** The settings of the legacy protocol (v1). */
import { integer, oneOf, setting } from '../platform/config/settings.ts'

export const legacyV1Settings = {
  SALLYPORT_V1_REGISTRATION: setting(
    'open',
    'Legacy v1: open lets anyone register a client; closed lets only existing clients get a new challenge',
    oneOf('open', 'closed'),
  ),
  SALLYPORT_V1_BINDING: setting(
    'optional',
    'Legacy v1: required refuses envelopes that are not bound to each other, which a relay could mix',
    oneOf('optional', 'required'),
  ),
  SALLYPORT_V1_READ: setting(
    'client',
    "Legacy v1: what results are encrypted to, the client's key, or (recipient) the key that each read names, bound or not",
    oneOf('client', 'recipient'),
  ),
  SALLYPORT_V1_KEY_OVERLAP_HOURS: setting(
    '168',
    'Legacy v1: how long envelopes for the previous service key are still accepted after v1-key rotate',
    integer(0, 87_600),
  ),
  SALLYPORT_V1_CHALLENGE_SECONDS: setting('300', 'Legacy v1: lifetime of a challenge', integer(1, 86_400)),
  SALLYPORT_V1_REGISTRATIONS_PER_MINUTE: setting(
    '10',
    'Legacy v1: registrations per minute from one address (IPv6: one /64)',
    integer(1, 1_000_000),
  ),
  SALLYPORT_V1_REGISTRATIONS_PER_DAY: setting('100', 'The same per day', integer(1, 1_000_000)),
  SALLYPORT_V1_REGISTRATIONS_PER_DAY_48: setting(
    '1000',
    'Legacy v1: registrations per day from one IPv6 /48',
    integer(1, 1_000_000),
  ),
  SALLYPORT_V1_REGISTRATIONS_PER_KEY: setting(
    '20',
    'Legacy v1: registrations of the same key per hour from one address',
    integer(1, 1_000_000),
  ),
  SALLYPORT_V1_KEYS_PER_CLIENT: setting('1000', 'Legacy v1: keys that one client can store', integer(1, 1_000_000)),
  SALLYPORT_V1_BYTES_PER_CLIENT: setting(
    '10485760',
    'Legacy v1: bytes that one client can store',
    integer(1024, 1_000_000_000),
  ),
  SALLYPORT_V1_BYTES_IN_ALL: setting(
    '1073741824',
    'Legacy v1: bytes that all clients together can store',
    integer(1024, 100_000_000_000),
  ),
  SALLYPORT_V1_RECORD_BYTES_PER_ADDRESS_DAY: setting(
    '67108864',
    'Legacy v1: bytes per day that records of operations from one address can take (IPv6: one /64; four times as much for a /48), unless registration is closed',
    integer(65_536, 1_000_000_000_000),
  ),
  SALLYPORT_V1_RECORD_BYTES_PER_DAY: setting(
    '268435456',
    'The same for all clients together',
    integer(1_048_576, 1_000_000_000_000),
  ),
  SALLYPORT_V1_RSA_QUEUE: setting(
    '64',
    'Legacy v1: queue length for decrypting and encrypting envelopes; beyond it calls are refused',
    integer(0, 100_000),
  ),
}
