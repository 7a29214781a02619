import { ProposeProviderBody, ProviderDetails } from '@sallyport/protocol/providers'
import { actingAgent, onBehalfOf } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import { proposeProvider } from './propose.ts'
import type { ProposeNeeds } from './propose.ts'
import { assertForAgents, metadataInputOf } from './provider-body.ts'
import { detailsView } from './provider-view.ts'

export function proposalRoutes(http: Http, needs: ProposeNeeds): void {
  http.post(
    '/v4/providers/proposals',
    {
      config: { allow: ['agent'], needsDiskSpace: true },
      schema: {
        tags: ['Providers'],
        summary: 'Propose a provider',
        description:
          'It becomes active immediately if the provider supports dynamic client registration; otherwise an administrator has to add credentials. Only `provider_name` is ' +
          'required; without endpoints, an administrator sets them.',
        body: ProposeProviderBody,
        response: { 201: ProviderDetails },
      },
      preValidation: ({ body }, _reply, done) => {
        assertForAgents(body)
        done()
      },
    },
    async (request, reply) => {
      const { body, id } = request
      const { agent } = actingAgent(request)
      const proposal = {
        ...metadataInputOf(body),
        name: body.provider_name,
        slug: body.slug,
        scopes: body.scopes ?? [],
        apiHosts: body.api_hosts,
      }
      const provider = await proposeProvider(onBehalfOf(request, needs), agent, proposal, id)
      return reply.code(201).send(detailsView(provider, needs.config.baseUrl))
    },
  )
}
