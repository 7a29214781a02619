/** The settings of pairing and of what devices sign. */
import { integer } from './setting-kinds.ts'
import { setting } from './settings.ts'

export const deviceSettings = {
  pairingCodeSeconds: setting(
    'SALLYPORT_PAIRING_CODE_SECONDS',
    '600',
    'How long a pairing code waits to be used',
    integer(1, 86_400),
  ),
  pairingCodesPerHour: setting(
    'SALLYPORT_PAIRING_CODES_PER_HOUR',
    '20',
    'Pairing codes that one user may ask for an hour',
    integer(1, 1_000_000),
  ),
  pairingTriesPerMinute: setting(
    'SALLYPORT_PAIRING_TRIES_PER_MINUTE',
    '5',
    'Wrong pairing codes that one address (IPv6: one /64) may send a minute',
    integer(1, 1_000_000),
  ),
  challengeSeconds: setting(
    'SALLYPORT_CHALLENGE_SECONDS',
    '120',
    'How long a device may take to sign',
    integer(1, 3600),
  ),
  challengesPerMinute: setting(
    'SALLYPORT_CHALLENGES_PER_MINUTE',
    '60',
    'Challenges that one device may ask for a minute',
    integer(1, 1_000_000),
  ),
}
