import {
  CreateProviderBody,
  ListProvidersQuery,
  ProviderCredentialsBody,
  ProviderDetails,
  ProviderEndpointsBody,
  ProviderPage,
  UpdateProviderBody,
} from '@sallyport/protocol/providers'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { changeCredentials } from './change-credentials.ts'
import { createProvider } from './create.ts'
import type { CreateProviderNeeds } from './create.ts'
import { deleteProvider } from './delete.ts'
import type { DeleteProviderNeeds } from './delete.ts'
import { disableProvider, enableProvider } from './enable.ts'
import { changesOf, credentialsOf, endpointsOf, newProviderOf } from './provider-body.ts'
import { detailsView, publicView } from './provider-view.ts'
import type { Provider } from './provider.ts'
import { rediscoverProvider } from './rediscover.ts'
import { setEndpoints } from './set-endpoints.ts'
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
        description: 'Anyone sees the active ones. An admin sees them in detail, and may ask for another status.',
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
        description: 'From a preset, from an issuer or discovery URL, or from its whole metadata.',
        body: CreateProviderBody,
        response: { 201: ProviderDetails },
      },
    },
    async ({ body, id }, reply) => {
      const provider = await createProvider(needs, newProviderOf(body), id)
      return reply.code(201).send(details(provider))
    },
  )

  http.patch(
    '/v4/providers/:id',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Correct the name, scopes or API hosts of a provider',
        description:
          'Members that are left out stay as they are. A list replaces the one there is. Existing grants do not reach ' +
          'hosts that are added; hosts that are removed are refused from the next call on.',
        params: IdInPath,
        body: UpdateProviderBody,
        response: { 200: ProviderDetails },
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
        summary: 'Set the client of a provider',
        description: 'A provider that waits for credentials becomes active.',
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
        summary: 'Set the endpoints that a proposal lacks',
        description:
          'Give `issuer_url` or `discovery_url`, or both `authorization_url` and `token_url`. The provider becomes active ' +
          'where it registers us; otherwise set its credentials next. Endpoints that the proposal named are dropped. ' +
          'Once set, endpoints do not change.',
        params: IdInPath,
        body: ProviderEndpointsBody,
        response: { 200: ProviderDetails },
      },
    },
    async ({ params, body, id }) => details(await setEndpoints(needs, params.id, endpointsOf(body), id)),
  )

  const actions = {
    disable: { summary: 'Disable a provider', act: disableProvider },
    enable: { summary: 'Enable a provider again', act: enableProvider },
    rediscover: { summary: 'Read the metadata of a provider anew', act: rediscoverProvider },
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
        summary: 'Delete a provider that nothing is connected to',
        params: IdInPath,
        body: NoBody,
        response: { 200: ProviderDetails },
      },
    },
    async ({ params, id }) => details(await deleteProvider(needs, params.id, id)),
  )
}
