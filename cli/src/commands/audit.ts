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
      (({ answered: 'green', failed: 'red', refused: 'yellow', unknown: 'dim' }) as const)[outcome ?? 'unknown'],
  },
  {
    title: 'AGENT',
    // The end of an id tells agents apart; --json has it whole.
    shown: ({ agent_id }) => (agent_id === null ? '-' : `…${agent_id.slice(-6)}`),
    exact: ({ agent_id }) => agent_id ?? '-',
  },
  { title: 'WHAT', shown: what },
]

/** Of a call, what was called; of anything else, whom or what it is about. */
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
  summary: 'read what is on record: as an agent its own, as admin everything',
  about:
    'With an admin token in the profile or the environment all records are read, else those of the agent (--as says which).',
  options: {
    as: { type: 'text', value: 'WHOM', choices: ['agent', 'admin'], summary: 'whose token reads it' },
    agent: { type: 'text', value: 'AGENT_ID', summary: 'only of this agent' },
    grant: { type: 'text', value: 'GRANT_ID', summary: 'only of this grant' },
    provider: { type: 'text', value: 'PROVIDER', summary: 'only of this provider' },
    event: { type: 'text', value: 'EVENT', summary: 'only these, such as proxy.attempt' },
    outcome: {
      type: 'text',
      value: 'OUTCOME',
      choices: ['answered', 'failed', 'refused', 'unknown'],
      summary: 'only calls that ended so',
    },
    since: { type: 'text', value: 'TIME', summary: 'from then on: 2030-01-31T08:00:00Z, or 30m, 12h, 7d' },
    until: { type: 'text', value: 'TIME', summary: 'before then' },
    follow: { type: 'boolean', short: 'f', summary: 'go on, and print what happens as it happens' },
    ...limitOption,
  },
  examples: [
    ['sallyport audit --since 1h --outcome refused', 'what was refused in the last hour'],
    ['sallyport audit --follow --json', 'one JSON object a line, until Ctrl-C'],
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
      else output.table(columns, records, 'Nothing is on record.')
      return undefined
    }
    if (options.until !== undefined) throw usageError('--follow goes on; --until would end it')
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
  throw usageError(`${option}: got "${inLine(given)}"; takes a time such as 2030-01-31T08:00:00Z, or 30m, 12h, 7d`)
}
