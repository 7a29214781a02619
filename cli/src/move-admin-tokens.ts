/** Earlier versions stored the admin token in the profile. Moves it out of all profiles before any is used. */
import { openPrivateTokens } from './private-tokens.ts'
import { openProfiles } from './profiles.ts'
import type { Profile } from './profiles.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

type FormerProfile = Profile & { admin_token?: unknown }

export function moveAdminTokens(shell: Shell): void {
  const { list, read } = openProfiles({ ...shell, env: { ...shell.env, SALLYPORT_PROFILE: '' }, profile: undefined })
  for (const name of list()) {
    const found = readable((): FormerProfile | undefined => read(name))
    if (typeof found?.admin_token !== 'string') continue
    const { admin_token, ...profile } = found
    warn(shell, name, moved(shell, name, profile, admin_token))
  }
}

/** A profile that can't be read is reported by the command that uses it. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The new path. Undefined if it could not be moved. */
function moved(shell: Shell, name: string, profile: Profile, admin_token: string): string | undefined {
  try {
    const admins = openPrivateTokens(shell, 'admin')
    admins.keep(name, { url: profile.url, token: admin_token })
    openProfiles(shell).stage(name).keep(profile)
    return admins.fileOf(name)
  } catch {
    return undefined
  }
}

function warn({ output }: Shell, name: string, place: string | undefined): void {
  const what =
    place === undefined
      ? 'It could not be moved: delete the member "admin_token" yourself.'
      : `It is now in ${inLine(place)}.`
  const said = `profile "${inLine(name)}", which agents can read, contained the admin token. ${what} If an agent may have seen it, replace it.`
  output.say(`${output.sayStyle('yellow', 'sallyport:')} ${said}`)
}
