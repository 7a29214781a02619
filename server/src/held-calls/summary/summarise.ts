/**
 * The sentence for a held call. It is said only where path and body read in exactly one way; a call that could be read in
 * several ways, or contains other calls, has none.
 */
import { mediaTypeOf } from '../../proxy/media-type.ts'
import { possibleMethods } from '../../proxy/parameters.ts'
import { matchesRule } from '../../providers/presets/api-path.ts'
import { readingsOf } from '../../providers/presets/path-readings.ts'
import { presetRulesAt } from '../../providers/presets/preset-rules.ts'
import { jsonMembers } from './call-content.ts'
import type { Members } from './call-content.ts'
import { sayGeneric } from './generic.ts'
import { githubRoutes } from './github.ts'
import { gmailMembers, gmailRoutes } from './gmail.ts'
import { graphMembers, microsoftMailRoutes } from './microsoft-mail.ts'
import { namesAt, otherMembers } from './routes.ts'
import type { Route, Said } from './routes.ts'
import { slackMembers, slackRoutes } from './slack.ts'
import type { Summary, SummarisedCall } from './summary.ts'

interface Api {
  routes: readonly Route[]
  read: (call: SummarisedCall) => Members | undefined
  /** Parameters of a query that only change the answer. All others could change what the call does. */
  harmless: readonly string[]
}

const github: Api = { routes: githubRoutes, read: jsonMembers, harmless: [] }
const gmail: Api = { routes: gmailRoutes, read: gmailMembers, harmless: ['alt', 'prettyPrint', 'fields', 'uploadType'] }
const slack: Api = { routes: slackRoutes, read: slackMembers, harmless: [] }
const microsoft: Api = { routes: microsoftMailRoutes, read: graphMembers, harmless: [] }

/** By host: an API is the same one whatever the provider is called here. */
const apis = new Map<string, Api>([
  ['api.github.com', github],
  ['gmail.googleapis.com', gmail],
  ['www.googleapis.com', gmail],
  ['slack.com', slack],
  ['graph.microsoft.com', microsoft],
])

const longestSentence = 400
const none: Summary = { sentence: null, details: [], repeatScope: null }

export function summarise(call: SummarisedCall): Summary {
  if (isUnclear(call)) return none
  const api = apis.get(call.url.host)
  const match = api && findRoute(api.routes, call)
  if (!match) return summaryOf(call, sayGeneric(call))
  if ([...call.url.searchParams.keys()].some((name) => !api.harmless.includes(name))) return none
  const members = api.read(call)
  const said = members && match.route.say(match.names, members, call)
  return said ? summaryOf(call, said, members) : none
}

function summaryOf({ access, url }: SummarisedCall, said: Said | undefined, members: Members = new Map()): Summary {
  if (!said || said.sentence.length > longestSentence) return none
  const canRepeat = access !== 'destructive' && url.search === ''
  return {
    sentence: said.sentence,
    details: [...(said.details ?? []), ...otherMembers(members, said.covers ?? [])],
    repeatScope: canRepeat ? (said.repeats ?? null) : null,
  }
}

function findRoute(routes: readonly Route[], { method, url }: SummarisedCall) {
  for (const route of routes) {
    const names = route.method === method ? namesAt(route.path, url) : undefined
    if (names) return { route, names }
  }
  return undefined
}

/** It contains calls or a document that says what it does, or a server could take another method than the call's. */
function isUnclear(call: SummarisedCall): boolean {
  const { url, preset } = call
  const readings = readingsOf(url.pathname)
  const { batches } = presetRulesAt(url.hostname, preset)
  if (batches.some((rule) => matchesRule(rule, readings, undefined))) return true
  if (readings.some(({ segments }) => segments.at(-1) === 'graphql')) return true
  return hasOtherMethod(call)
}

function hasOtherMethod({ method, url, headers, body }: SummarisedCall): boolean {
  const destination = { url, host: url.host, path: url.pathname, queryNames: [] }
  const { kind } = mediaTypeOf(headers)
  try {
    const methods = possibleMethods({ method, destination, headers, body }, kind, false)
    return methods.some((one) => one !== method)
  } catch {
    return true
  }
}
