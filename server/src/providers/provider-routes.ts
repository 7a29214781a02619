import {
  CreateProviderBody,
  ListProvidersQuery,
  ProviderCredentialsBody,
  ProviderDetails,
  ProviderEndpointsBody,
  ProviderPage,
  TestClientBody,
  TestClientReply,
  UpdateProviderBody,
} from '@sallyport/protocol/providers'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { Secret } from '../platform/secret.ts'
import { changeCredentials } from './change-credentials.ts'
import { createProvider } from './create.ts'
import type { CreateProviderNeeds } from './create.ts'
import { deleteProvider } from './delete.ts'
import type { DeleteProviderNeeds } from './delete.ts'
import { disableProvider, enableProvider } from './enable.ts'
import { assertCanChange, changesOf, credentialsOf, endpointsOf, newProviderOf } from './provider-body.ts'
import { detailsView, publicView } from './provider-view.ts'
import type { Provider } from './provider.ts'
import { rediscoverProvider } from './rediscover.ts'
import { setEndpoints } from './set-endpoints.ts'
import { testClient } from './test-client.ts'
import { updateProvider } from './update.ts'

const tags = ['Providers']

export function providerRoutes(http: Http, needs: CreateProviderNeeds & DeleteProviderNeeds): void {
  const { config, database, providers } = needs
  const details = (provider: Provider) => detailsView(provider, config.baseUrl)

  http.get(
    '/v4/providers',
    {
      config: { allow: 'anyone', recognises: ['admin', 'agent', 'user'] },
      schema: {
        tags,
        summary: 'List providers',
        description: 'Anyone can list active providers. An administrator sees more details and can filter by status.',
        querystring: ListProvidersQuery,
        response: { 200: ProviderPage },
      },
    },
    async ({ query: { status = 'active', ...paging }, actor }) => {
      const isAdmin = actor?.kind === 'admin'
      if (!isAdmin && status !== 'active') throw new ServiceError(actor ? 'forbidden' : 'unauthenticated')
      const page = { ...pageRequest(paging), status: status === 'all' ? undefined : status }
      const { records, nextCursor } = await providers.list(database.queries, page)
      const view = isAdmin ? records.map(details) : records.map(publicView)
      return { providers: view, next_cursor: nextCursor }
    },
  )

  http.post(
    '/v4/providers',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Create a provider',
        description: 'From a preset, from an issuer or discovery URL, or from complete metadata.',
        body: CreateProviderBody,
        response: { 201: ProviderDetails },
      },
    },
    async ({ body, id }, reply) => {
      const provider = await createProvider(needs, newProviderOf(body), id)
      return reply.code(201).send(details(provider))
    },
  )

  http.post(
    '/v4/providers/test-client',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Test an OAuth client',
        description:
          'Asks the token endpoint of a preset or provider whether it knows the client. Nothing is stored. Without ' +
          '`client_id` the stored client of the provider is tested.',
        body: TestClientBody,
        response: { 200: TestClientReply },
      },
    },
    ({ body: { preset, provider_id: providerId, client_id: clientId, ...credentials } }) =>
      testClient(needs, {
        preset,
        providerId,
        clientId,
        clientSecret: credentials.client_secret === undefined ? undefined : new Secret(credentials.client_secret),
        authMethod: credentials.token_endpoint_auth_method,
      }),
  )

  http.patch(
    '/v4/providers/:id',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Update the name, scopes or API hosts of a provider',
        description:
          'Omitted members do not change. A list replaces the existing one. Existing grants do not cover ' +
          'added hosts; calls to removed hosts are refused immediately.',
        params: IdInPath,
        body: UpdateProviderBody,
        response: { 200: ProviderDetails },
      },
      preValidation: ({ body }, _reply, done) => {
        assertCanChange(body)
        done()
      },
    },
    async ({ params, body, id }) => details(await updateProvider(needs, params.id, changesOf(body), id)),
  )

  http.patch(
    '/v4/providers/:id/credentials',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Set the client credentials of a provider',
        description: 'A provider that needs credentials becomes active.',
        params: IdInPath,
        body: ProviderCredentialsBody,
        response: { 200: ProviderDetails },
      },
    },
    async ({ params, body, id }) => details(await changeCredentials(needs, params.id, credentialsOf(body), id)),
  )

  http.patch(
    '/v4/providers/:id/endpoints',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Set the endpoints that are missing from a proposal',
        description:
          'Set `issuer_url` or `discovery_url`, or both `authorization_url` and `token_url`. The provider becomes active ' +
          'if it supports dynamic client registration; otherwise set its credentials next. Endpoints from the proposal are discarded. ' +
          'Once set, endpoints cannot be changed.',
        params: IdInPath,
        body: ProviderEndpointsBody,
        response: { 200: ProviderDetails },
      },
    },
    async ({ params, body, id }) => details(await setEndpoints(needs, params.id, endpointsOf(body), id)),
  )

  const actions = {
    disable: { summary: 'Disable a provider', act: disableProvider },
    enable: { summary: 'Enable a provider', act: enableProvider },
    rediscover: { summary: 'Reload the metadata of a provider', act: rediscoverProvider },
  }
  for (const [name, { summary, act }] of Object.entries(actions)) {
    http.post(
      `/v4/providers/:id/${name}`,
      {
        config: { allow: ['admin'], worksOnFullDisk: name === 'disable' },
        schema: { tags, summary, params: IdInPath, body: NoBody, response: { 200: ProviderDetails } },
      },
      async ({ params, id }) => details(await act(needs, params.id, id)),
    )
  }

  http.delete(
    '/v4/providers/:id',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Delete a provider that has no connections',
        params: IdInPath,
        body: NoBody,
        response: { 200: ProviderDetails },
      },
    },
    async ({ params, id }) => details(await deleteProvider(needs, params.id, id)),
  )
}
