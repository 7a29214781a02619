/** A service on SQLite whose calls go into its journal, and what a crash at any moment leaves of it. */
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { auditChainStore } from '../src/audit/audit-chain-store.ts'
import { createAuditKeyStore } from '../src/audit/audit-key-store.ts'
import { looseRecordStore } from '../src/audit/loose-record-store.ts'
import { verifyAudit } from '../src/audit/verify-audit.ts'
import { mintToken } from '../src/platform/tokens.ts'
import { newMasterKey } from '../src/platform/vault/master-keys.ts'
import { recorded } from './audit.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { fixedClock } from './clock.ts'
import { temporaryFolder } from './databases.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export interface Journaling extends Calling {
  /** So many calls that are in the journal and in no table. */
  callInto: (count: number) => Promise<void>
  /** How many calls were made so far. */
  made: () => number
  settings: Record<string, string>
}

export async function startJournaling(t: TestContext): Promise<Journaling> {
  const settings = {
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
  }
  const calling = await startCalling(t, 'sqlite', { settings })
  const { service, upstream, grantId, agent } = calling
  const settled = async () => (await attempts(service)).length
  // The first call of an agent also takes some calls in advance.
  assert.equal((await calling.proxy()).status, 200)
  const body = { grant_id: grantId, method: 'GET', url: upstream.url }
  const callInto: Journaling['callInto'] = async (count) => {
    await service.app.settle()
    const before = await settled()
    for (let call = 0; call < count; call++) {
      const { status } = await service.call('POST', '/v4/proxy', { token: agent.token, body })
      assert.equal(status, 200)
    }
    // On a busy machine it may have taken so long that they are in the tables by now.
    if ((await settled()) > before) await callInto(count)
  }
  return { ...calling, settings, callInto, made: () => upstream.received.length }
}

/** As the tables have it, without what is on its way there. */
export const attempts = ({ database }: Pick<TestService, 'database'>) => recorded({ database }, 'proxy.attempt')

/** What a crash at this moment leaves, in a service that is started on it. */
export async function afterCrash(
  t: TestContext,
  { service, settings }: Journaling,
  change: (folder: string) => void = () => undefined,
): Promise<TestService> {
  const folder = temporaryFolder(t)
  cpSync(service.config.dataDir, folder, { recursive: true, filter: (name) => !/-(?:shm|lock)$/.test(name) })
  change(folder)
  return startService(t, 'sqlite', { ...settings, SALLYPORT_DATA_DIR: folder }, fixedClock())
}

export const journalIn = (folder: string) => join(folder, 'sallyport.db-calls')

export async function callsOf({ database }: TestService, grantId: string): Promise<number | undefined> {
  const query = database.queries.selectFrom('grant_usage').select('calls').where('grant_id', '=', grantId)
  return (await query.executeTakeFirst())?.calls
}

export async function assertIntact({ database, vault }: TestService): Promise<void> {
  const key = await createAuditKeyStore(vault).find(database.queries)
  assert.ok(key)
  const onProgress = () => undefined
  const needs = { database, chains: auditChainStore, looseRecords: looseRecordStore, key, onProgress }
  assert.deepEqual((await verifyAudit(needs)).findings, [])
}
