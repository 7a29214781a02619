/** What a held call does and what became of it, in words. */
import type { CallStatus, PersonCall } from '@sallyport/sdk'
import type { AccessClass } from '@sallyport/protocol/grant-terms'

export const accessWords = { read: 'Reads', write: 'Changes', destructive: 'Deletes' } as const satisfies Record<
  AccessClass,
  string
>

export const noSentence = 'This call can’t be summarised.'

export function isDestructive({ access }: Pick<PersonCall, 'access'>): boolean {
  return access === 'destructive'
}

/** `POST api.example.com/v1/items`, for lists and labels. */
export function requestLine({ description: { method, url } }: Pick<PersonCall, 'description'>): string {
  if (!URL.canParse(url)) return `${method} ${url}`
  const { host, pathname } = new URL(url)
  return `${method} ${host}${pathname}`
}

type Outcome = Pick<PersonCall, 'status' | 'upstream_status'>

interface Told {
  title: string
  text: string
  tone: 'good' | 'calm' | 'warn' | 'bad'
}

const told: Record<Exclude<CallStatus, 'waiting' | 'done'>, Told> = {
  approved: { title: 'Approved', text: 'The call starts in a moment.', tone: 'good' },
  running: { title: 'Approved', text: 'The call is running.', tone: 'good' },
  denied: {
    title: 'Denied',
    text: 'The call was not made. The same call is refused for 10 minutes.',
    tone: 'calm',
  },
  expired: {
    title: 'Expired',
    text: 'This request expired. It was not denied. The call was not made; the agent can try again.',
    tone: 'calm',
  },
  cancelled: {
    title: 'Cancelled',
    text: 'The agent cancelled this call, or its access ended. The call was not made.',
    tone: 'calm',
  },
  unknown: {
    title: 'Result unknown',
    text: 'The service stopped while the call was running. Check at the provider whether it was made.',
    tone: 'warn',
  },
}

/** Of a call that no longer waits. */
export function tellOutcome({ status, upstream_status: upstream }: Outcome): Told {
  if (status === 'waiting') return { title: 'Waiting', text: 'Nobody has decided yet.', tone: 'calm' }
  if (status !== 'done') return told[status]
  if (upstream === null) {
    return { title: 'Not made', text: 'The call was approved, but it could not be made.', tone: 'bad' }
  }
  if (upstream < 400) return { title: 'Done', text: `The provider answered ${upstream}.`, tone: 'good' }
  return {
    title: 'Refused by the provider',
    text: `The call was made, and the provider answered ${upstream}.`,
    tone: 'warn',
  }
}

/** Whether anything is still to happen without the user. */
export function isUnderWay({ status }: Pick<PersonCall, 'status'>): boolean {
  return status === 'approved' || status === 'running'
}

/** Minutes and seconds, or hours. */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (number: number) => String(number).padStart(2, '0')
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
