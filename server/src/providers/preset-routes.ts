import { PresetPage } from '@sallyport/protocol/providers'
import type { Config } from '../config/config.ts'
import type { Http } from '../platform/http/http.ts'
import { presets } from './presets/catalogue.ts'
import { redirectUri } from './provider.ts'

export function presetRoutes(http: Http, { config }: { config: Pick<Config, 'baseUrl'> }): void {
  http.get(
    '/v4/providers/presets',
    {
      config: { allow: ['admin'] },
      schema: {
        tags: ['Providers'],
        summary: 'List provider presets',
        description: 'Each needs only the credentials of an OAuth app that you register with the provider.',
        response: { 200: PresetPage },
      },
    },
    () => ({
      presets: presets.map((preset) => ({
        preset: preset.id,
        provider_name: preset.name,
        issuer_url: preset.oauth?.issuerUrl ?? null,
        scopes: [...(preset.oauth?.defaultScopes ?? [])],
        api_hosts: [...preset.apiHosts],
        device_flow: preset.oauth?.deviceAuthorizationUrl !== undefined,
        redirect_uri: redirectUri(config.baseUrl, preset.id),
        notes: preset.oauth?.notes ?? null,
        docs: [...preset.docs],
      })),
      next_cursor: null,
    }),
  )
}
