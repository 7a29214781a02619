import { createUserClient, SallyportError } from '@sallyport/sdk'
import { command } from '../command.ts'
import { addressForNew, checkedUrl, credentialOf } from '../credentials.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure, usageError } from '../failures.ts'
import { readSecret } from '../input-files.ts'
import { openPrivateTokens } from '../private-tokens.ts'
import { openProfiles } from '../profiles.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

export const login = command({
  name: 'login',
  group: 'person',
  summary: 'sign in with a sign-in link, to manage your connections',
  about: `Asks for the link, or reads it from standard input. An administrator creates one: sallyport login-link.
The session is stored in a file of its own, which agents' commands and the MCP server never read. A program that runs as you
can read it and approve requests with it: sign out when you are done, or turn on "Approve on device only" in the console.`,
  options: {
    'link-file': { type: 'text', value: 'FILE', summary: 'file with the link; - for standard input' },
  },
  examples: [
    ['sallyport login', 'asks for the link, and does not show it'],
    ['sallyport login-link --email ada@example.com | sallyport login', 'for the operator, who is a user too'],
  ],
  onStrayWord: () =>
    usageError(
      "don't pass a sign-in link on the command line, where other users of this machine can read it",
      'Run sallyport login, which asks for it, or use --link-file FILE',
    ),
  run: async (shell, { 'link-file': file }) => {
    const { loginToken, origin } = readLink(await linkFrom(shell, file))
    const profiles = openProfiles(shell)
    const former = profiles.read()
    const isNew = former === undefined && shell.url === undefined && !shell.env['SALLYPORT_URL']
    const url = isNew && origin !== undefined ? checkedUrl(origin, 'the link') : addressForNew(shell).baseUrl
    if (origin !== undefined && origin !== url) {
      throw usageError(
        `this link is for ${inLine(origin)}, and not for ${url}`,
        'Choose the service with --url or --profile',
      )
    }
    const sessions = openPrivateTokens(shell, 'user')
    const { user, session_token, expires_at } = await createUserClient({ baseUrl: url })
      .auth.login(loginToken, { signal: shell.interrupted })
      .catch((error: unknown) => {
        if (error instanceof SallyportError && error.code === 'unauthenticated') throw linkIsOver()
        throw error
      })
    if (former === undefined) profiles.stage().keep({ url })
    sessions.keep(profiles.name, { url, token: session_token })
    if (shell.json) shell.output.json({ profile: profiles.name, url, user, expires_at })
    else {
      shell.output.line(inLine(user.user_id))
      const who = user.name ?? user.email ?? user.user_id
      const { sayStyle } = shell.output
      shell.output.say(`${sayStyle('green', '✓')} Signed in as ${inLine(who)} until ${fromNow(expires_at, '')}`)
    }
    return undefined
  },
})

export const logout = command({
  name: 'logout',
  group: 'person',
  summary: 'end your session',
  examples: [['sallyport logout', 'the stored session is deleted']],
  run: async (shell) => {
    const { baseUrl, token, isStored } = credentialOf(shell, 'user')
    try {
      await createUserClient({ baseUrl, token }).auth.logout({ signal: shell.interrupted })
    } catch (error) {
      // It has ended already.
      if (!(error instanceof SallyportError) || error.code !== 'unauthenticated') throw error
    }
    if (isStored) openPrivateTokens(shell, 'user').remove(openProfiles(shell).name)
    if (shell.json) shell.output.json({ signed_out: true })
    else shell.output.say(`${shell.output.sayStyle('green', '✓')} Signed out`)
    return undefined
  },
})

async function linkFrom(shell: Shell, file: string | undefined): Promise<string> {
  if (file !== undefined) return readSecret(shell, file, '--link-file')
  return shell.ask ? shell.ask('Sign-in link: ', { isHidden: true }) : readSecret(shell, '-', 'standard input')
}

function readLink(text: string): { loginToken: string; origin: string | undefined } {
  const [loginToken] = /sp_login_[0-9A-Za-z]{20,}/.exec(text) ?? []
  if (loginToken === undefined) {
    throw usageError('that is not a sign-in link', 'An administrator creates one: sallyport login-link')
  }
  return { loginToken, origin: originOf(text.trim()) }
}

function linkIsOver(): CommandFailure {
  return new CommandFailure(exitCodes.credential, 'this link no longer works: each works once, and not for long', {
    code: 'unauthenticated',
    hint: 'An administrator creates another: sallyport login-link',
  })
}

/** Undefined for a token alone. */
function originOf(link: string): string | undefined {
  try {
    return new URL(link).origin
  } catch {
    return undefined
  }
}
