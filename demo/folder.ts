/**
 * The demo's folder: all of it is made anew by each start, so it is only ever a folder that a demo made. What the
 * scripted agent has to know lies in it, in a file.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DemoRefused } from './settings.ts'

/** A demo that runs, or ran. */
export interface Run {
  runId: string
  /** Where the service is. */
  baseUrl: string
  /** The person there. */
  userId: string
  /** The provider's slug there. */
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
        `${folder} was not made by a demo, and would be emptied. Move it, or set SALLYPORT_DATA_DIR.`,
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

/** Undefined where none ever came so far, or the file is no longer what was written. */
export function lastRun(folder: string): Run | undefined {
  try {
    const run = JSON.parse(readFileSync(join(folder, runName), 'utf8')) as Partial<Run>
    return run.acorn && run.runId && run.baseUrl && run.userId && run.provider ? (run as Run) : undefined
  } catch {
    return undefined
  }
}

/** Asks it, rather than looking for its process: another may have its number by now. */
export async function isRunning(run: Run): Promise<boolean> {
  try {
    const answer = await fetch(`${run.acorn.pages}/run`, { signal: AbortSignal.timeout(5000), redirect: 'error' })
    return (await answer.text()) === run.runId
  } catch {
    return false
  }
}
