/** The settings of the sandbox. */
import { integer } from './setting-kinds.ts'
import { setting } from './settings.ts'

export const sandboxSettings = {
  sandboxSeconds: setting('SALLYPORT_SANDBOX_SECONDS', '3600', 'How long a sandbox grant lasts', integer(1, 86_400)),
  sandboxStartsPerHour: setting(
    'SALLYPORT_SANDBOX_STARTS_PER_HOUR',
    '60',
    'Sandboxes that one agent may start an hour',
    integer(1, 1_000_000),
  ),
  sandboxCallsPerSecond: setting(
    'SALLYPORT_SANDBOX_CALLS_PER_SECOND',
    '5',
    'Sandbox calls a second for one agent',
    integer(1, 1000),
  ),
  sandboxBurst: setting('SALLYPORT_SANDBOX_BURST', '20', 'Sandbox calls that may come at once', integer(1, 10_000)),
  sandboxBodyBytes: setting(
    'SALLYPORT_SANDBOX_BODY_BYTES',
    '65536',
    'The largest body that the echo takes',
    integer(1, 10_485_760),
  ),
  sandboxRetentionDays: setting(
    'SALLYPORT_SANDBOX_RETENTION_DAYS',
    '7',
    'How long records of sandbox calls, and of refusals without a grant, are kept',
    integer(1, 36_500),
  ),
}
