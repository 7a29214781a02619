import { asAdmin } from '../clients.ts'
import { command } from '../command.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

export const loginLink = command({
  name: 'login-link',
  group: 'operator',
  summary: 'create a one-time sign-in link',
  about:
    'The first person to open it is signed in, so send it only to that user. Without --user or --email it creates a new user.',
  options: {
    user: { type: 'text', value: 'USER_ID', summary: 'existing user' },
    email: { type: 'text', value: 'ADDRESS', summary: 'user with this email address; created if there is none' },
    name: { type: 'text', value: 'NAME', summary: 'name of a new user' },
    ttl: {
      type: 'number',
      value: 'SECONDS',
      range: [1, 86_400],
      summary: 'how long the link works (default: 900)',
    },
  },
  examples: [['sallyport login-link --email ada@example.com', 'invite her, or let her sign in again']],
  run: async (shell, { user, email, name, ttl }) => {
    const { output } = shell
    const made = await asAdmin(shell).createLoginToken(
      {
        ...(user !== undefined && { user_id: user }),
        ...(email !== undefined && { email }),
        ...(name !== undefined && { name }),
        ...(ttl !== undefined && { ttl_seconds: ttl }),
      },
      { signal: shell.interrupted },
    )
    const { login_url, expires_at, user_id } = made
    if (shell.json) output.json({ login_url, expires_at, user_id })
    else {
      output.line(inLine(login_url))
      output.say(`Signs in ${inLine(user_id)}. Works once; expires ${fromNow(expires_at, '')}.`)
    }
    return undefined
  },
})
