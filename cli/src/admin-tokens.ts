/**
 * Admin tokens are stored apart from the profiles: an agent reads its profile and may be given the file, but with the
 * admin token it would be the operator. Only commands for operators read them.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, configFolder, findConfigFolder, readPrivate, stagePrivate } from './config-folder.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import { checkedName } from './profile-name.ts'
import type { Shell } from './shell.ts'

type Place = Pick<Shell, 'env' | 'platform' | 'home'>

export interface AdminToken {
  url: string
  admin_token: string
}

export function openAdminTokens(place: Place) {
  const fileOf = (profile: string) => join(configFolder(place), 'admin', `${checkedName(profile)}.json`)
  return {
    fileOf,
    read: (profile: string): AdminToken | undefined => {
      const text = findConfigFolder(place) === undefined ? undefined : readPrivate(fileOf(profile), place.platform)
      return text === undefined ? undefined : parse(fileOf(profile), text)
    },
    keep: (profile: string, token: AdminToken) => {
      stagePrivate(fileOf(profile)).keep(`${JSON.stringify(token, null, 2)}\n`)
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

function parse(file: string, text: string): AdminToken {
  try {
    const { url, admin_token } = JSON.parse(text) as Partial<AdminToken>
    if (typeof url === 'string' && typeof admin_token === 'string') return { url, admin_token }
  } catch {
    // Thrown below.
  }
  throw new CommandFailure(exitCodes.credential, `${file} doesn't contain an admin token`, {
    hint: 'Delete it and save the token again: sallyport profile set --admin-token-file FILE',
  })
}
