import { matchesWords } from '@sallyport/protocol/search'
import { maxPageSize } from '@sallyport/protocol/lists'
import { ListPresetsQuery, PresetPage } from '@sallyport/protocol/providers'
import type { Preset as PresetView } from '@sallyport/protocol/providers'
import type { Config } from '../config/config.ts'
import { memoizeByObject } from '../platform/cache/memoize.ts'
import type { Database } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import { compressAnswer } from '../platform/http/compressed-answer.ts'
import type { Http } from '../platform/http/http.ts'
import { needsNoClient, offeredPresets } from './offered-preset.ts'
import { presetMethods } from './preset-methods.ts'
import { presets } from './presets/catalogue.ts'
import type { Preset } from './presets/preset.ts'
import { formOf } from './provider-view.ts'
import { redirectUri } from './provider.ts'
import { readAuthMethods } from './read-auth-methods.ts'
import type { UsedPresetStore } from './used-preset-store.ts'

interface PresetRouteNeeds {
  config: Pick<Config, 'baseUrl' | 'userPresets'>
  database: Database
  usedPresets: UsedPresetStore
}

export function presetRoutes(http: Http, needs: PresetRouteNeeds): void {
  const { config, database } = needs

  http.get(
    '/v4/providers/presets',
    {
      onSend: compressAnswer(),
      config: { allow: ['admin', 'user'] },
      schema: {
        tags: ['Providers'],
        summary: 'List and search provider presets',
        description:
          'What is known about providers in advance, and what a form has to ask for. Without `limit` all of them. ' +
          'For OAuth each needs the credentials of an app that an administrator registers with the provider.',
        querystring: ListPresetsQuery,
        response: { 200: PresetPage },
      },
    },
    async ({ query: { query = '', limit = maxPageSize, cursor } }) => {
      const found = presets.filter((preset) => matchesWords(searchedText(preset), query))
      const { records, nextCursor } = pageOf(found.slice(startAfter(cursor, found)), limit, ({ id }) => id)
      const offered = await offeredPresets(needs, database.queries)
      return {
        presets: records.map((preset) => ({ ...viewOf(preset, config.baseUrl), connectable: offered.has(preset.id) })),
        next_cursor: nextCursor,
      }
    },
  )
}

function startAfter(cursor: string | undefined, found: readonly Preset[]): number {
  const at = found.findIndex(({ id }) => id === cursor)
  if (cursor === undefined || at !== -1) return at + 1
  throw new ServiceError('invalid_field', { field: 'cursor', message: 'No preset of this list has this id.' })
}

function searchedText({ id, name, otherNames = [], apiHosts }: Preset): string {
  return [id, name, ...otherNames, ...apiHosts].join(' ')
}

/** Reading the methods of all presets takes milliseconds. */
const formsOf = memoizeByObject((preset: Preset) =>
  readAuthMethods(presetMethods(preset, preset.apiHosts), preset.apiHosts).map(formOf),
)

function viewOf(preset: Preset, baseUrl: URL): Omit<PresetView, 'connectable'> {
  const { id, name, oauth, apiHosts, docs } = preset
  return {
    preset: id,
    provider_name: name,
    issuer_url: oauth?.issuerUrl ?? null,
    scopes: [...(oauth?.defaultScopes ?? [])],
    api_hosts: [...apiHosts],
    device_flow: oauth?.deviceAuthorizationUrl !== undefined,
    auth_methods: formsOf(preset),
    needs_client: !needsNoClient(preset),
    redirect_uri: redirectUri(baseUrl, id),
    register_url: oauth?.registerUrl ?? null,
    notes: oauth?.notes ?? null,
    docs: [...docs],
  }
}
