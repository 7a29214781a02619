/** What the scripted agent stores between runs, readable by its owner only: its token and its last grant. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Identity {
  /** The start of the demo that it belongs to: another one does not know this agent. */
  runId: string
  token: string
  grantId?: string
}

export function identityFile(folder: string): string {
  return join(folder, 'agent.json')
}

export function readIdentity(folder: string, runId: string): Identity | undefined {
  try {
    const kept = JSON.parse(readFileSync(identityFile(folder), 'utf8')) as Partial<Identity>
    return kept.runId === runId && typeof kept.token === 'string' ? (kept as Identity) : undefined
  } catch {
    return undefined
  }
}

export function keepIdentity(folder: string, identity: Identity): void {
  writeFileSync(identityFile(folder), `${JSON.stringify(identity)}\n`, { mode: 0o600 })
}
