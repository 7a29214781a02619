/**
 * Profiles: a service and its agent's token. Each is a separate file, so that concurrent commands don't overwrite each
 * other's.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, configFolder, findConfigFolder, readPrivate, stagePrivate } from './config-folder.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure, usageError } from './failures.ts'
import { checkedName } from './profile-name.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export interface Profile {
  url: string
  agent?: { agent_id: string; name: string; access_token: string }
}

const usualName = 'default'

export interface Profiles {
  /** The active profile: set by option, environment or `profile use`. */
  name: string
  /** Undefined without a home directory: everything has to come from the environment then. */
  folder: string | undefined
  read: (name?: string) => Profile | undefined
  /** Makes sure that the file is writable before there is something to store. */
  stage: (name?: string) => { keep: (profile: Profile) => void; discard: () => void }
  list: () => string[]
  current: () => string
  use: (name: string) => void
  remove: (name: string) => void
}

export function openProfiles(shell: Pick<Shell, 'env' | 'platform' | 'home' | 'profile'>): Profiles {
  const folder = findConfigFolder(shell)
  const below = (...names: string[]) => join(folder ?? configFolder(shell), ...names)
  const fileOf = (name: string) => below('profiles', `${checkedName(name)}.json`)
  const readBelow = (...names: string[]) =>
    folder === undefined ? undefined : readPrivate(join(folder, ...names), shell.platform)
  const current = () => readBelow('current-profile')?.trim() ?? usualName
  const name = checkedName(shell.profile ?? (shell.env['SALLYPORT_PROFILE'] || current()))
  const list = () => {
    try {
      const files = readdirSync(below('profiles')).filter((file) => file.endsWith('.json'))
      return files.map((file) => file.slice(0, -'.json'.length)).sort()
    } catch {
      return []
    }
  }
  const mustBe = (wanted: string) => {
    if (list().includes(wanted)) return
    const known = list().map(inLine).join(', ')
    throw usageError(`no profile "${inLine(wanted)}"${known === '' ? '' : ` (available: ${known})`}`)
  }
  return {
    name,
    folder,
    list,
    current,
    read: (wanted = name) => {
      const text = readBelow('profiles', `${checkedName(wanted)}.json`)
      return text === undefined ? undefined : parseProfile(fileOf(wanted), text)
    },
    stage: (wanted = name) => {
      const staged = stagePrivate(fileOf(wanted))
      return {
        keep: (profile) => {
          staged.keep(`${JSON.stringify(profile, null, 2)}\n`)
        },
        discard: staged.discard,
      }
    },
    use: (wanted) => {
      mustBe(checkedName(wanted))
      stagePrivate(below('current-profile')).keep(`${wanted}\n`)
    },
    remove: (wanted) => {
      mustBe(checkedName(wanted))
      try {
        rmSync(fileOf(wanted))
        if (current() === wanted) rmSync(below('current-profile'), { force: true })
      } catch (error) {
        throw new CommandFailure(exitCodes.unexpected, `${fileOf(wanted)} can't be removed (${codeOf(error)})`)
      }
    },
  }
}

function parseProfile(file: string, text: string): Profile {
  try {
    const profile = JSON.parse(text) as Profile
    if (typeof profile.url === 'string') return profile
  } catch {
    // Thrown below.
  }
  throw new CommandFailure(exitCodes.credential, `${file} is not a valid profile`, {
    hint: 'Fix it, or delete it and register again.',
  })
}
