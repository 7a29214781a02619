/** Problems in the service's health that need attention, worst first. */
import type { HealthReply } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'

export interface Concern {
  tone: 'bad' | 'warn'
  what: string
  words: string
  /** Link to where it can be fixed. */
  link?: { href: string; text: string }
}

/** Due jobs normally run within seconds. Later than this, something is wrong. */
const patienceMs = 5 * 60_000

export function concernsOf(health: HealthReply, now: number): Concern[] {
  const all = [...ofFindings(health), ...ofDatabase(health), ...ofOutboxes(health, now), ...ofPeople(health)]
  return [...all.filter(({ tone }) => tone === 'bad'), ...all.filter(({ tone }) => tone === 'warn')]
}

function ofFindings({ findings }: HealthReply): Concern[] {
  return findings.flatMap(({ what, level, words }) =>
    level === 'well' ? [] : [{ tone: level === 'wrong' ? 'bad' : 'warn', what, words }],
  )
}

function ofDatabase({ database: { migration, newest_migration: newest } }: HealthReply): Concern[] {
  if (migration === newest) return []
  const words =
    migration < newest
      ? `its schema is at migration ${migration} of ${newest}; restart the service to migrate it`
      : `its schema is at migration ${migration}, but this version knows only ${newest}: a newer version has migrated it`
  return [{ tone: 'bad', what: 'database', words }]
}

const outboxNames = { callbacks: 'callbacks to agents', pushes: 'notifications to devices' }

function ofOutboxes({ outboxes }: HealthReply, now: number): Concern[] {
  return (Object.keys(outboxNames) as (keyof typeof outboxNames)[]).flatMap((name) => {
    const { due, oldest_due_at: oldest } = outboxes[name]
    if (oldest === null || now - Date.parse(oldest) < patienceMs) return []
    const minutes = Math.floor((now - Date.parse(oldest)) / 60_000)
    const words = `${count(due, 'is', 'are')} overdue, the oldest by ${count(minutes, 'minute')}`
    return [{ tone: 'warn', what: outboxNames[name], words }]
  })
}

function ofPeople({ providers, connections }: HealthReply): Concern[] {
  const { pending_credentials: pending } = providers
  const { needs_reauth: stale } = connections
  return [
    ...(pending === 0
      ? []
      : [
          {
            tone: 'warn' as const,
            what: 'providers',
            words: `${count(pending, 'needs', 'need')} credentials`,
            link: { href: '/admin', text: 'Add credentials' },
          },
        ]),
    ...(stale === 0
      ? []
      : [
          {
            tone: 'warn' as const,
            what: 'accounts',
            words: `${count(stale, 'needs', 'need')} the user to sign in again`,
          },
        ]),
  ]
}
