import { auditChainStore } from '../audit/audit-chain-store.ts'
import { createAuditKeyStore } from '../audit/audit-key-store.ts'
import { headText, readHeadText } from '../audit/chain-heads.ts'
import type { SignedHead } from '../audit/chain-heads.ts'
import type { Restoration } from '../audit/restoration.ts'
import { verifyAudit } from '../audit/verify-audit.ts'
import type { Verdict } from '../audit/verify-audit.ts'
import { openVault } from '../platform/vault/vault.ts'
import { withDatabase } from './with-database.ts'
import type { Opened } from './with-database.ts'

const shownFindings = 20

/** Checks that the audit log was not modified. Read-only: it may run while the service is running. */
export async function verifyAuditCommand(env: NodeJS.ProcessEnv, options: string[]): Promise<number> {
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const texts = headOptions(options)
  const kept = texts?.map(readHeadText)
  if (!kept || !kept.every((head) => head !== undefined)) {
    process.stderr.write(
      '--head must be one line that starts with sallyport-audit-head.v1, as printed by verify and in the log.\n',
    )
    return 2
  }
  return withDatabase(env, (opened) => verify(opened, kept, say), { hasNoLimits: true })
}

async function verify(
  { database, source, clock }: Opened,
  kept: SignedHead[],
  say: (line: string) => void,
): Promise<number> {
  const vault = await openVault({ database, readMasterKeys: source.read, clock })
  const key = await createAuditKeyStore(vault).find(database.queries)
  if (!key) {
    say('✗ No signing key found: nothing was ever recorded, or the key was removed.')
    return 1
  }
  const onProgress = (checked: number, total: number) => {
    say(`  ${checked} of ${total} records`)
  }
  const verdict = await verifyAudit({ database, chains: auditChainStore, key, onProgress }, kept)
  report(verdict, say)
  return verdict.findings.length === 0 ? 0 : 1
}

function restorationText({ auditId, at, backupUntil, lost, lostRecords }: Restoration): string {
  const what =
    lost === undefined
      ? 'The replaced database could not be read, so what came after is not known'
      : `${lostRecords} records of ${lost.length} ${lost.length === 1 ? 'chain' : 'chains'} came after`
  return `Restored at ${at.toISOString()} (${auditId}) from a backup with records until ${backupUntil.toISOString()}. ${what}. If nobody restored it then, someone has set the database back.`
}

/** `--head <text>`, any number of times. Undefined for anything else. */
function headOptions(options: readonly string[]): string[] | undefined {
  const texts = options.filter((_, index) => index % 2 === 1)
  const isHead = options.every((word, index) => index % 2 === 1 || word === '--head')
  return isHead && texts.length * 2 === options.length ? texts : undefined
}

function report(verdict: Verdict, say: (line: string) => void): void {
  const { findings, chains, records, unchained, removed, signed, restorations, explained } = verdict
  for (const { chain, position, auditId, words } of findings.slice(0, shownFindings)) {
    say(`✗ chain ${chain}, position ${position}${auditId === undefined ? '' : `, ${auditId}`}: ${words}`)
  }
  if (findings.length > shownFindings) say(`✗ and ${findings.length - shownFindings} more chains`)
  if (unchained > 0) say(`  ${unchained} records are older than the audit chains and are not protected`)
  if (removed > 0) say(`  ${removed} records were removed by retention`)
  for (const one of restorations) say(`  ${restorationText(one)}`)
  if (explained > 0) say(`  ${explained} of the given heads are of records that a restore left out`)
  const what = `${records} records in ${chains} ${chains === 1 ? 'chain' : 'chains'}`
  // After a finding, the number of records read so far says nothing.
  if (findings.length > 0) say('✗ The audit log was modified.')
  else say(`✓ ${what}: nothing was changed, removed or reordered`)
  const lasting = signed.filter(({ chain }) => chain.startsWith('chn_'))
  const newest = lasting.toSorted((one, other) => other.at - one.at)[0]
  if (findings.length === 0 && newest) {
    say(
      '  Store the newest head elsewhere and pass it to --head later: it reveals a database that was rolled back to an older state.',
    )
    say(`  ${headText(newest)}`)
  }
}
