/**
 * Tokens of people, stored apart from the profiles: an agent reads its profile and may be given the file, but with the
 * admin token it would be the operator, and with a session it could approve its own requests. Only commands for
 * operators and for people read them.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, configFolder, findConfigFolder, readPrivate, stagePrivate } from './config-folder.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import { checkedName } from './profile-name.ts'
import type { Shell } from './shell.ts'

type Place = Pick<Shell, 'env' | 'platform' | 'home'>

export interface PrivateToken {
  url: string
  token: string
}

interface Kind {
  folder: string
  /** The name of the token in the file. */
  member: string
  /** To replace a file that is not valid. */
  hint: string
}

const kinds = {
  admin: {
    folder: 'admin',
    member: 'admin_token',
    hint: 'Delete it and save the token again: sallyport profile set --admin-token-file FILE',
  },
  user: { folder: 'sessions', member: 'session_token', hint: 'Delete it and sign in again: sallyport login' },
} satisfies Record<string, Kind>

export function openPrivateTokens(place: Place, role: keyof typeof kinds) {
  const { folder, member, hint } = kinds[role]
  const fileOf = (profile: string) => join(configFolder(place), folder, `${checkedName(profile)}.json`)
  return {
    fileOf,
    read: (profile: string): PrivateToken | undefined => {
      const text = findConfigFolder(place) === undefined ? undefined : readPrivate(fileOf(profile), place.platform)
      return text === undefined ? undefined : parse(fileOf(profile), text, { member, hint })
    },
    keep: (profile: string, { url, token }: PrivateToken) => {
      stagePrivate(fileOf(profile)).keep(`${JSON.stringify({ url, [member]: token }, null, 2)}\n`)
    },
    remove: (profile: string) => {
      try {
        rmSync(fileOf(profile), { force: true })
      } catch (error) {
        throw new CommandFailure(exitCodes.unexpected, `${fileOf(profile)} can't be removed (${codeOf(error)})`)
      }
    },
  }
}

function parse(file: string, text: string, { member, hint }: Pick<Kind, 'member' | 'hint'>): PrivateToken {
  try {
    const { url, [member]: token } = JSON.parse(text) as Record<string, unknown>
    if (typeof url === 'string' && typeof token === 'string') return { url, token }
  } catch {
    // Thrown below.
  }
  throw new CommandFailure(exitCodes.credential, `${file} doesn't contain a token`, { hint })
}
