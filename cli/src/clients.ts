import { createAdminClient, createAgentClient, createUserClient } from '@sallyport/sdk'
import type { AdminClient, AgentClient, UserClient } from '@sallyport/sdk'
import { addressOf, credentialOf } from './credentials.ts'
import type { Shell } from './shell.ts'

export function asAgent(shell: Shell): AgentClient {
  const { baseUrl, token } = credentialOf(shell, 'agent')
  return createAgentClient({ baseUrl, token })
}

export function asAdmin(shell: Shell): AdminClient {
  const { baseUrl, token } = credentialOf(shell, 'admin')
  return createAdminClient({ baseUrl, adminToken: token })
}

export function asUser(shell: Shell): UserClient {
  const { baseUrl, token } = credentialOf(shell, 'user')
  return createUserClient({ baseUrl, token })
}

/** For public endpoints: sends no token. */
export function asAnyone(shell: Shell): UserClient {
  return createUserClient({ baseUrl: addressOf(shell).baseUrl })
}
