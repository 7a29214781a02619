/** The service's health: problems first, then figures, then passed checks. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AdminClient, HealthReply } from '@sallyport/sdk'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Fact, Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Ago, Moment, useNow } from '../../ui/time.tsx'
import { Badge, Card, Notice, Section, View } from '../../ui/view.tsx'
import { concernsOf } from './concerns.ts'

export function Health({ admin }: { admin: AdminClient }) {
  const health = useQuery({
    queryKey: ['admin', 'health'],
    queryFn: ({ signal }) => admin.health({ signal }),
    refetchInterval: 15_000,
  })
  return (
    <View title="Health" lead="Service status, updated live.">
      {health.isError && health.data && (
        <Notice tone="bad">The service isn’t responding. This is its last known status.</Notice>
      )}
      <Loaded query={health}>{(reply) => <Report health={reply} />}</Loaded>
    </View>
  )
}

function Report({ health }: { health: HealthReply }) {
  return (
    <>
      <Concerns health={health} />
      <div className="grid gap-6 md:grid-cols-2">
        <Running health={health} />
        <Deliveries health={health} />
      </div>
      <Fine health={health} />
      <SignedHead health={health} />
    </>
  )
}

function Concerns({ health }: { health: HealthReply }) {
  const concerns = concernsOf(health, useNow())
  return (
    <Section title="Needs attention">
      {concerns.length === 0 ? (
        <Notice tone="good">Nothing. All checks passed.</Notice>
      ) : (
        <ul className="divide-y divide-line rounded-xl border border-line bg-surface">
          {concerns.map(({ tone, what, words, link }) => (
            <li key={what} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-3 text-sm">
              <Badge tone={tone}>{tone === 'bad' ? 'Problem' : 'Notice'}</Badge>
              <p className="min-w-0 flex-1 basis-60 wrap-anywhere">
                <span className="font-semibold">{capital(what)}</span>: {words}.
              </p>
              {link && (
                <Link href={link.href} className="font-semibold text-accent">
                  {link.text}
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
const channels = { web: 'browsers', apns: 'iOS', fcm: 'Android' }

function Running({ health }: { health: HealthReply }) {
  const { database, push } = health
  const reached = (Object.keys(channels) as (keyof typeof channels)[]).filter((name) => push[name])
  return (
    <Section title="Version and runtime">
      <Card>
        <Facts>
          <Fact name="Version">{health.version}</Fact>
          <Fact name="Started">
            <Moment at={health.started_at} />
          </Fact>
          <Fact name="Processes">{health.workers}</Fact>
          <Fact name="Database">
            {engines[database.engine]}, migration {database.migration} of {database.newest_migration}
          </Fact>
          <Fact name="Push notifications">{reached.map((name) => channels[name]).join(', ') || 'none'}</Fact>
        </Facts>
      </Card>
    </Section>
  )
}

function Deliveries({ health: { outboxes } }: { health: HealthReply }) {
  const rows = [
    { name: 'Callbacks to agents', ...outboxes.callbacks },
    { name: 'Notifications to devices', ...outboxes.pushes },
  ]
  return (
    <Section title="Deliveries">
      <Card>
        <table className="w-full text-sm">
          <thead className="text-left text-quiet">
            <tr>
              <th className="font-normal">Type</th>
              <th className="px-3 text-right font-normal">Waiting</th>
              <th className="text-right font-normal">Due now</th>
            </tr>
          </thead>
          <tbody className="tabular-nums">
            {rows.map(({ name, waiting, due, oldest_due_at: oldest }) => (
              <tr key={name}>
                <th scope="row" className="py-1 text-left font-normal">
                  {name}
                  {oldest && (
                    <span className="block text-quiet">
                      oldest due <Ago at={oldest} />
                    </span>
                  )}
                </th>
                <td className="px-3 py-1 text-right">{waiting.toLocaleString()}</td>
                <td className="py-1 text-right">{due.toLocaleString()}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
    </Section>
  )
}

function Fine({ health: { findings } }: { health: HealthReply }) {
  const fine = findings.filter(({ level }) => level === 'well')
  if (fine.length === 0) return null
  return (
    <Section title="Passed checks">
      <Card>
        <Facts>
          {fine.map(({ what, words }) => (
            <Fact key={what} name={capital(what)}>
              <span className="wrap-anywhere">{words}</span>
            </Fact>
          ))}
        </Facts>
      </Card>
    </Section>
  )
}

/** Stored elsewhere, it proves later whether earlier records were deleted or changed. */
function SignedHead({ health: { audit } }: { health: HealthReply }) {
  return (
    <Section
      title="Audit log"
      note="Store the newest signed head somewhere else: audit verify --head then shows whether any earlier record is missing or was changed."
    >
      <Card>
        {audit.last_head === null ? (
          <p className="text-sm text-quiet">
            No signed head yet. One is created every minute in which something is recorded.
          </p>
        ) : (
          <div className="flex flex-wrap items-center justify-between gap-3">
            <div className="min-w-0 flex-1 basis-60 space-y-1 text-sm">
              <p className="text-quiet">
                Signed <Moment at={audit.last_head.signed_at} />
              </p>
              <code className="block font-mono text-xs wrap-anywhere">{audit.last_head.text}</code>
            </div>
            <CopyButton text={audit.last_head.text} label="Copy the signed head" />
          </div>
        )}
      </Card>
    </Section>
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
