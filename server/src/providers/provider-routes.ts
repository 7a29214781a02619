import { CreateProviderBody, ListProvidersQuery, ProviderDetails, ProviderPage } from '@sallyport/protocol/providers'
import type { ProposeProviderBody } from '@sallyport/protocol/providers'
import type { Config } from '../platform/config.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { Secret } from '../platform/secret.ts'
import { createProvider } from './create.ts'
import type { CreateProviderNeeds, NewProvider } from './create.ts'
import type { Said } from './find-metadata.ts'
import { detailsView, publicView } from './provider-view.ts'

const tags = ['Providers']

export interface ProviderRoutesNeeds extends CreateProviderNeeds {
  config: Pick<Config, 'baseUrl'>
}

export function providerRoutes(http: Http, needs: ProviderRoutesNeeds): void {
  const { config, database, providers } = needs

  http.get(
    '/v4/providers',
    {
      config: { allow: 'anyone', recognises: ['admin'] },
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
      if (!isAdmin && status !== 'active') throw new ServiceError('unauthenticated')
      const page = { ...pageRequest(paging), status: status === 'all' ? undefined : status }
      const { records, nextCursor } = await providers.list(database.queries, page)
      const view = isAdmin ? records.map((one) => detailsView(one, config.baseUrl)) : records.map(publicView)
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
      const provider = await createProvider(needs, newProvider(body), id)
      return reply.code(201).send(detailsView(provider, config.baseUrl))
    },
  )
}

function newProvider(body: CreateProviderBody): NewProvider {
  const { device_authorization_endpoint, revocation_endpoint, userinfo_endpoint } = body
  const said = saidOf(body)
  return {
    ...said,
    metadata: {
      ...said.metadata,
      ...(device_authorization_endpoint !== undefined && { device_authorization_endpoint }),
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
      ...(userinfo_endpoint !== undefined && { userinfo_endpoint }),
    },
    preset: body.preset,
    name: body.provider_name,
    slug: body.slug,
    scopes: body.scopes,
    clientId: body.client_id,
    clientSecret: body.client_secret === undefined ? undefined : new Secret(body.client_secret),
    authMethod: body.token_endpoint_auth_method,
    apiHosts: body.api_hosts,
    authorizationParams: body.authorization_params,
    injection: body.injection,
    allowRange: body.allow_range,
  }
}

function saidOf(body: Partial<ProposeProviderBody>): Said {
  return {
    discoveryUrl: body.discovery_url,
    metadata: {
      ...(body.issuer_url !== undefined && { issuer: body.issuer_url }),
      ...(body.authorization_url !== undefined && { authorization_endpoint: body.authorization_url }),
      ...(body.token_url !== undefined && { token_endpoint: body.token_url }),
      ...(body.registration_endpoint !== undefined && { registration_endpoint: body.registration_endpoint }),
    },
  }
}
