import type { Audit, AuditRecord, ListAuditQuery } from '@sallyport/sdk'
import { asAdmin, asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { findCredential } from '../credentials.ts'
import { usageError } from '../failures.ts'
import { followRecords } from '../follow-records.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'

const columns: Column<AuditRecord>[] = [
  {
    title: 'AT (UTC)',
    shown: ({ at }) => at.slice(5, 19).replace('T', ' '),
    exact: ({ at }) => at,
    look: () => 'dim',
  },
  { title: 'EVENT', shown: ({ event }) => event },
  {
    title: 'OUTCOME',
    shown: ({ outcome, result }) => [outcome ?? '', text(result?.['status'])].join(' ').trim(),
    exact: ({ outcome }) => outcome ?? '-',
    look: ({ outcome }) =>
      ({ answered: 'green', failed: 'red', refused: 'yellow', unknown: 'dim' } as const)[outcome ?? 'unknown'],
  },
  {
    title: 'AGENT',
    // The end of an id is enough to distinguish agents. --json has the full id.
    shown: ({ agent_id }) => (agent_id === null ? '-' : `…${agent_id.slice(-6)}`),
    exact: ({ agent_id }) => agent_id ?? '-',
  },
  { title: 'WHAT', shown: what },
]

/** For a call, its method and URL. Otherwise the provider, grant or user of the record. */
function what({ detail, provider, grant_id, user_id }: AuditRecord): string {
  const call = [detail['method'], [detail['host'], detail['path']].map(text).join('')].map(text).join(' ').trim()
  return call || [provider, grant_id, user_id].find((one) => one !== null) || '-'
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

export const audit = command({
  name: 'audit',
  group: 'operator',
  summary: "read the audit log: an agent's own records, or all records as admin",
  about:
    "With an admin token in the profile or the environment, reads all records; otherwise the agent's own. --as chooses.",
  options: {
    as: { type: 'text', value: 'ROLE', choices: ['agent', 'admin'], summary: 'token to read with' },
    agent: { type: 'text', value: 'AGENT_ID', summary: 'only records of this agent' },
    grant: { type: 'text', value: 'GRANT_ID', summary: 'only records of this grant' },
    provider: { type: 'text', value: 'PROVIDER', summary: 'only records of this provider' },
    event: { type: 'text', value: 'EVENT', summary: 'only this event, such as proxy.attempt' },
    outcome: {
      type: 'text',
      value: 'OUTCOME',
      choices: ['answered', 'failed', 'refused', 'unknown'],
      summary: 'only calls with this outcome',
    },
    since: { type: 'text', value: 'TIME', summary: 'start time: 2030-01-31T08:00:00Z, or 30m, 12h, 7d ago' },
    until: { type: 'text', value: 'TIME', summary: 'end time (exclusive)' },
    follow: { type: 'boolean', short: 'f', summary: 'keep running and print new records as they arrive' },
    ...limitOption,
  },
  examples: [
    ['sallyport audit --since 1h --outcome refused', 'calls refused in the last hour'],
    ['sallyport audit --follow --json', 'one JSON object per line, until Ctrl-C'],
  ],
  run: async (shell, options) => {
    const { output, interrupted: signal } = shell
    const query = {
      ...(options.agent !== undefined && { agent_id: options.agent }),
      ...(options.grant !== undefined && { grant_id: options.grant }),
      ...(options.provider !== undefined && { provider: options.provider }),
      ...(options.event !== undefined && { event: options.event as AuditRecord['event'] }),
      ...(options.outcome !== undefined && { outcome: options.outcome as NonNullable<ListAuditQuery['outcome']> }),
      ...(options.since !== undefined && { since: timeOf(options.since, '--since') }),
      ...(options.until !== undefined && { until: timeOf(options.until, '--until') }),
    }
    const reader = readerOf(shell, options.as)
    if (!options.follow) {
      const records = await take(reader.list(query, { signal }), options.limit)
      if (shell.json) output.json({ records })
      else output.table(columns, records, 'No records.')
      return undefined
    }
    if (options.until !== undefined) throw usageError("--follow can't be combined with --until")
    for await (const record of followRecords(reader, query, options.limit ?? 10, signal)) {
      if (shell.json) output.jsonLine(record)
      else
        output.line(
          output.isTerminal
            ? oneLine(record, output.style)
            : columns.map(({ shown, exact = shown }) => inLine(exact(record))).join('\t'),
        )
    }
    return undefined
  },
})

function oneLine(record: AuditRecord, style: Shell['output']['style']): string {
  return columns
    .map(({ shown, look }, at) => {
      const cell = inLine(shown(record)).padEnd([14, 22, 12, 7][at] ?? 0)
      const how = look?.(record)
      return how ? style(how, cell) : cell
    })
    .join('  ')
    .trimEnd()
}

function readerOf(shell: Shell, as: string | undefined): Audit {
  const isAdmin = as === 'admin' || (as === undefined && findCredential(shell, 'admin') !== undefined)
  return isAdmin ? asAdmin(shell).audit : asAgent(shell).audit
}

const lengths = { m: 60_000, h: 3_600_000, d: 86_400_000 }

export function timeOf(given: string, option: string, now = Date.now()): string {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(given) ?? []
  if (count !== undefined) return new Date(now - Number(count) * lengths[unit as keyof typeof lengths]).toISOString()
  const time = Date.parse(given)
  if (/^\d{4}-\d\d-\d\d/.test(given) && !Number.isNaN(time)) return new Date(time).toISOString()
  throw usageError(`${option}: got "${inLine(given)}"; expected a time such as 2030-01-31T08:00:00Z, or 30m, 12h, 7d`)
}
