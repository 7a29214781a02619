import type { Grant } from '@sallyport/sdk'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

const columns: Column<Grant>[] = [
  { title: 'GRANT', shown: ({ grant_id }) => grant_id },
  { title: 'PROVIDER', shown: ({ kind, provider }) => provider ?? kind },
  {
    title: 'STATUS',
    shown: ({ status }) => status,
    look: ({ status }) => (status === 'active' ? 'green' : 'dim'),
  },
  { title: 'METHODS', shown: ({ allowed_methods }) => allowed_methods?.join(',') ?? 'any' },
  { title: 'HOSTS', shown: ({ allowed_hosts }) => allowed_hosts.join(',') },
  { title: 'CALLS', shown: ({ calls, max_calls }) => (max_calls === null ? `${calls}` : `${calls}/${max_calls}`) },
  {
    title: 'EXPIRES',
    shown: ({ expires_at }) => fromNow(expires_at, 'never'),
    exact: ({ expires_at }) => expires_at ?? '-',
  },
]

/** The end of an id is enough to distinguish accounts. */
const account: Column<Grant> = {
  title: 'ACCOUNT',
  shown: ({ connection_id }) => connection_id?.slice(-5) ?? '-',
  exact: ({ connection_id }) => connection_id ?? '-',
}
const mode: Column<Grant> = {
  title: 'MODE',
  shown: ({ mode, max_access }) => (max_access === null ? mode : `${mode}, ${max_access} at most`),
}
const details: Column<Grant>[] = [
  account,
  { title: 'PATHS', shown: ({ allowed_paths }) => allowed_paths?.join(',') ?? 'any' },
  { title: 'CREATED', shown: ({ created_at }) => created_at },
  mode,
]

/** Scripts get all columns. A terminal shows the account only if there are several, and the mode if a person is asked. */
function columnsFor(grants: readonly Grant[], isTerminal: boolean): Column<Grant>[] {
  if (!isTerminal) return [...columns, ...details]
  const accounts = new Set(grants.flatMap(({ connection_id }) => connection_id ?? []))
  const asks = grants.some(({ mode, max_access }) => mode !== 'allow_all' || max_access !== null)
  return [...columns, ...(accounts.size > 1 ? [account] : []), ...(asks ? [mode] : [])]
}

export const grantsList = command({
  name: 'grants list',
  group: 'agent',
  summary: "list this agent's grants",
  options: {
    status: { type: 'text', value: 'STATUS', choices: ['active', 'revoked', 'expired'], summary: 'filter by status' },
    ...limitOption,
  },
  examples: [
    ['sallyport grants', 'active grants first, newest first'],
    ["sallyport grants --status active --json | jq -r '.grants[].grant_id'", 'for a script'],
  ],
  run: async (shell, { status, limit }) => {
    const query = { ...(status !== undefined && { status: status as Grant['status'] }) }
    const grants = await take(asAgent(shell).grants(query, { signal: shell.interrupted }), limit)
    if (shell.json) shell.output.json({ grants })
    else
      shell.output.table(
        columnsFor(grants, shell.output.isTerminal),
        grants,
        'No grants. Request one: sallyport request PROVIDER',
      )
    return undefined
  },
})

export const grantsRevoke = command({
  name: 'grants revoke',
  group: 'agent',
  summary: 'revoke a grant that is no longer needed',
  operands: [{ name: 'grant_id', summary: 'from: sallyport grants' }],
  examples: [['sallyport grants revoke grt_01k9x3v7qmf5v8t2w4y6z8abcd', 'when the work is done']],
  run: async (shell, _options, [id = '']) => {
    const grant = await asAgent(shell).revokeGrant(id, { signal: shell.interrupted })
    if (shell.json) shell.output.json(grant)
    else shell.output.line(`${inLine(grant.grant_id)} is ${inLine(grant.status)}`)
    return undefined
  },
})
