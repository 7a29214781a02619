import type { Reply, TestService } from './service.ts'

export interface AgentInSandbox {
  agentId: string
  token: string
  grantId: string
  echoUrl: string
  /** A proxy call to the echo, with these members overridden. */
  proxy: (members?: object) => Promise<Reply>
}

/** An agent that registered and started a sandbox. */
export async function agentInSandbox(service: TestService): Promise<AgentInSandbox> {
  const { agentId, token } = await service.registerAgent()
  const { body } = await service.call('POST', '/v4/sandbox/start', { token })
  const { grant_id: grantId, echo_url: echoUrl } = body as { grant_id: string; echo_url: string }
  return {
    agentId,
    token,
    grantId,
    echoUrl,
    proxy: (members = {}) =>
      service.call('POST', '/v4/proxy', {
        token,
        body: { grant_id: grantId, method: 'GET', url: echoUrl, ...members },
      }),
  }
}
