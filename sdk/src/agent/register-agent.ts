import { createTransport } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type { RegisterAgentBody, RegisterAgentReply } from '../wire.ts'

/**
 * Registers an agent. Store its `access_token`: it is returned only once. By itself it gives access to nothing.
 *
 * ```ts
 * const { access_token } = await registerAgent({ baseUrl, name: 'Release notes' })
 * ```
 */
export async function registerAgent(
  { name, owner_user_id, metadata, ...service }: RegisterAgentBody & ClientOptions,
  options?: CallOptions,
): Promise<RegisterAgentReply> {
  const body = { name, owner_user_id, metadata }
  return createTransport(service).json({ method: 'POST', path: '/v4/agents/register', body }, options)
}
