import { asAdmin } from '../clients.ts'
import { command } from '../command.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

export const loginLink = command({
  name: 'login-link',
  group: 'operator',
  summary: 'make a link that signs somebody in, once',
  about:
    'Whoever opens it first is signed in: send it to its person alone. Without --user or --email it makes a new user.',
  options: {
    user: { type: 'text', value: 'USER_ID', summary: 'a user there is' },
    email: { type: 'text', value: 'ADDRESS', summary: 'the user with this address, new where there is none' },
    name: { type: 'text', value: 'NAME', summary: 'what a new user is called' },
    ttl: {
      type: 'number',
      value: 'SECONDS',
      range: [1, 86_400],
      summary: 'how long it works; 900 unless said otherwise',
    },
  },
  examples: [['sallyport login-link --email ada@example.com', 'invites her, or lets her in again']],
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
      output.say(`Signs in ${inLine(user_id)}, once, within the next ${fromNow(expires_at, '').replace('in ', '')}.`)
    }
    return undefined
  },
})
