/** What the operator has to know after a restore. */
import type { Comparison } from './carry-over.ts'
import type { Settlement } from './settle.ts'

interface Restored {
  file: string | undefined
  /** The replaced database, if there was one. */
  aside: string | undefined
  comparison: Comparison | undefined
  settlement: Settlement
}

const maxShown = 20

export function report({ file, aside, comparison, settlement }: Restored): void {
  const { backupUntil, sessions, heldCalls, refreshes, isPaused } = settlement
  const lines = [
    `✓ ${file ?? 'The database'} has everything until ${backupUntil.toISOString()}`,
    ...(aside === undefined ? [] : [`✓ the replaced database is ${aside}: it has credentials too, so delete it later`]),
    `✓ ended: ${sessions} sessions, all sign-in links, pairing codes and tool keys, ${heldCalls} calls that waited for a person`,
    `✓ ${refreshes} token refreshes were under way, and are settled after the start`,
    ...(comparison
      ? lossOf(comparison)
      : ['! what came after is not known: grants made since are gone, and revocations too']),
    ...(isPaused ? ['! all agents are paused: check grants and devices, then resume in the console at /admin'] : []),
    'Start the service. audit verify will show this restore as long as its record is kept.',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

function lossOf({ lostRecords, lostGrants, kept }: Comparison): string[] {
  const since = Object.entries(kept).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []))
  const shown = lostGrants
    .slice(0, maxShown)
    .map(({ grantId, agent, at }) => `    ${grantId}, ${JSON.stringify(agent)}, ${at.toISOString()}`)
  const more = lostGrants.length > maxShown ? [`    and ${lostGrants.length - maxShown} more`] : []
  return [
    `✓ what was taken away or renewed since stays so: ${since.join(', ') || 'nothing'}`,
    `! ${lostRecords} audit records that came after are gone`,
    `! ${lostGrants.length} grants made since are gone; their agents have to ask again`,
    ...shown,
    ...more,
  ]
}
