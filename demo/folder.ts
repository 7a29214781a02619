/**
 * The demo's folder. Each start deletes and recreates it, so only a folder made by a demo is used. It has a file with
 * what the scripted agent needs to know.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DemoRefused } from './settings.ts'

/** A demo that is or was running. */
export interface Run {
  runId: string
  /** The URL of the service. */
  baseUrl: string
  /** The owner's user id. */
  userId: string
  /** The slug of the provider Acorn. */
  provider: string
  acorn: { pages: string; origin: string }
}

const markName = 'made-by-the-demo.txt'
const mark =
  'Everything in this folder belongs to the demo (npm start -- --demo). Each start of it makes the folder anew.\n'
const runName = 'run.json'

export function makeAnew(folder: string): void {
  if (existsSync(folder)) {
    const names = readdirSync(folder)
    if (names.length > 0 && !names.includes(markName)) {
      throw new DemoRefused(
        `${folder} was not created by a demo and would be deleted. Move it, or set SALLYPORT_DATA_DIR.`,
      )
    }
    rmSync(folder, { recursive: true })
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, markName), mark)
}

export function keepRun(folder: string, run: Run): void {
  writeFileSync(join(folder, runName), `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 })
}

/** Undefined if no demo was started here, or the file is damaged. */
export function lastRun(folder: string): Run | undefined {
  try {
    const run = JSON.parse(readFileSync(join(folder, runName), 'utf8')) as Partial<Run>
    return run.acorn && run.runId && run.baseUrl && run.userId && run.provider ? (run as Run) : undefined
  } catch {
    return undefined
  }
}

/** Calls it instead of checking its process id, which another process may have by now. */
export async function isRunning(run: Run): Promise<boolean> {
  try {
    const answer = await fetch(`${run.acorn.pages}/run`, { signal: AbortSignal.timeout(5000), redirect: 'error' })
    return (await answer.text()) === run.runId
  } catch {
    return false
  }
}
