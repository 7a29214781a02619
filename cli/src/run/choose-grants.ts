/** Which grants the command of a run may use: those that are named, or all. */
import type { AgentClient, Grant } from '@sallyport/sdk'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure, usageError } from '../failures.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { showApprovalLink, waitForDecision } from '../waiting.ts'
import type { GrantedProvider } from './placeholders.ts'

/** Of one key. */
const mostGrants = 20

export interface WantedGrants {
  grant: string[]
  provider: string[]
  request: string[]
  reason: string | undefined
}

export async function chooseGrants(shell: Shell, agent: AgentClient, wanted: WantedGrants): Promise<Grant[]> {
  const active = await activeGrants(shell, agent)
  const isNamed = [wanted.grant, wanted.provider, wanted.request].some((names) => names.length > 0)
  const chosen = isNamed ? await named(shell, agent, wanted, active) : active
  if (chosen.length === 0) {
    throw new CommandFailure(exitCodes.refused, 'this agent has no active grant', {
      code: 'no_grant',
      hint: 'Ask for one: sallyport run --request PROVIDER -- …',
    })
  }
  if (chosen.length <= mostGrants) return chosen
  throw usageError(
    `${chosen.length} grants are more than the ${mostGrants} that a run can use`,
    'Name them with --grant or --provider.',
  )
}

async function named(shell: Shell, agent: AgentClient, wanted: WantedGrants, active: Grant[]): Promise<Grant[]> {
  const chosen = new Set<Grant>()
  for (const id of wanted.grant)
    chosen.add(
      active.find(({ grant_id }) => grant_id === id) ?? noGrant(`${inLine(id)} is no active grant of this agent`),
    )
  for (const slug of wanted.provider) {
    const found = active.filter(({ provider }) => provider === slug)
    if (found.length === 0) noGrant(`this agent has no active grant for ${inLine(slug)}`, slug)
    for (const grant of found) chosen.add(grant)
  }
  for (const slug of wanted.request) {
    const found = active.filter(({ provider }) => provider === slug)
    for (const grant of found.length > 0 ? found : [await askFor(shell, agent, slug, wanted.reason)]) chosen.add(grant)
  }
  return [...chosen]
}

function noGrant(message: string, slug?: string): never {
  const hint =
    slug === undefined ? 'List them: sallyport grants' : `Ask for one: sallyport run --request ${inLine(slug)} -- …`
  throw new CommandFailure(exitCodes.refused, message, { code: 'no_grant', hint })
}

async function askFor(shell: Shell, agent: AgentClient, provider: string, reason: string | undefined): Promise<Grant> {
  const asked = await agent.requestAccess(
    { provider, ...(reason !== undefined && { reason }) },
    { signal: shell.interrupted },
  )
  showApprovalLink(shell, asked)
  const { grant_id: id } = await waitForDecision(shell, agent, asked.access_request_id, undefined)
  shell.output.say(`${shell.output.sayStyle('green', '✓')} Approved.`)
  return (
    (await activeGrants(shell, agent)).find(({ grant_id }) => grant_id === id) ??
    noGrant(`${inLine(id)} has ended already`)
  )
}

/** Tools can't use the sandbox's. */
async function activeGrants({ interrupted }: Shell, agent: AgentClient): Promise<Grant[]> {
  const grants: Grant[] = []
  for await (const grant of agent.grants({ status: 'active' }, { signal: interrupted })) {
    if (grant.kind === 'connection') grants.push(grant)
  }
  return grants
}

/** The providers of these grants, with the variables that their tools read. */
export async function providersOf(
  { interrupted }: Shell,
  agent: AgentClient,
  grants: readonly Grant[],
  { provider, request }: WantedGrants,
): Promise<GrantedProvider[]> {
  const known = new Map<string, readonly string[]>()
  for await (const { slug, env } of agent.providers({}, { signal: interrupted })) known.set(slug, env)
  const slugs = [...new Set(grants.flatMap((grant) => grant.provider ?? []))]
  return slugs.map((slug) => ({
    slug,
    // An older service does not list them.
    env: known.get(slug) ?? [],
    grants: grants.filter((grant) => grant.provider === slug),
    isNamed: provider.includes(slug) || request.includes(slug),
  }))
}
