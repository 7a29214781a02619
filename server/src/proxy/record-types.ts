/** Types of records that a call names in a query or a body: some give access to credentials. */
import { matchesRule } from '../providers/presets/api-path.ts'
import {
  isCredentialField,
  isCredentialType,
  textNamesCredentialField,
} from '../providers/presets/credential-fields.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { withoutPercents } from '../providers/presets/undo-escapes.ts'
import { looksLikeJson, membersIn, parseJson, readParts, readText, UnreadableBody } from './body-content.ts'
import { mediaTypeOf } from './media-type.ts'
import type { JudgedCall } from './policy.ts'

/** Throws `UnreadableBody` if it can't be told. */
export function namesCredentialType(rules: PresetRules, call: JudgedCall, methods: readonly string[]): boolean {
  const { destination, headers, body } = call
  if (queryNamesCredentialType(rules, destination.url.search)) return true
  if (!body || body.length === 0) return false
  const { kind } = mediaTypeOf(headers)
  const texts =
    kind === 'multipart' ? readParts(readText(call), headers).map(({ content }) => content) : [readText(call)]
  return texts.some((text) => isCredentialText(rules, text, { isJson: kind === 'json', methods }))
}

export function queryNamesCredentialType({ credentialFields }: PresetRules, query: string): boolean {
  return textNamesCredentialField(credentialFields, withoutPercents(query))
}

/** JSON, or else SOQL, XML or CSV. */
function isCredentialText(
  rules: PresetRules,
  text: string,
  { isJson, methods }: { isJson: boolean; methods: readonly string[] },
): boolean {
  const isValue = looksLikeJson(text) || (isJson && text.trimStart().startsWith('"'))
  if (isValue && valueNamesCredentialType(rules, parseJson(text), methods)) return true
  if (isValue && isJson) return false
  const declared = /^\s*<\?xml[^>]*encoding\s?=\s?["'](?!utf-8["'])/i.test(text.slice(0, 1000))
  if (declared || text.includes('<!')) {
    throw new UnreadableBody('it is XML with a DTD, comments, CDATA, or an encoding other than UTF-8')
  }
  return textNamesCredentialField(rules.credentialFields, text)
}

const typeMembers = new Set(['type', 'object', 'apiname', 'objectapiname', 'sobjecttype', 'sobject'])
/** Without a name, a string is the whole body. */
const queryMembers = new Set(['', 'q', 'query'])
const maxTypes = 500

export function valueNamesCredentialType(rules: PresetRules, value: unknown, methods: readonly string[]): boolean {
  const types = new Set<string>()
  for (const [written, text] of membersIn(value)) {
    if (typeof text !== 'string') continue
    const name = written.toLowerCase()
    if (isCredentialType(rules.credentialFields, text)) return true
    if (queryMembers.has(name) && textNamesCredentialField(rules.credentialFields, text)) return true
    if (typeMembers.has(name)) types.add(text)
  }
  if (types.size > maxTypes) throw new UnreadableBody(`it names over ${maxTypes} types of records`)
  return [...types].some((type) => isCredentialRecord(rules, type, methods))
}

/** GraphQL: a field or type of a preset, or a mutation of such a record: `UserUpdate`. The names are in lower case. */
export function isCredentialOperation(rules: PresetRules, names: ReadonlySet<string>): boolean {
  return [...names].some((name) => {
    const [, record] = /^(.+)(?:create|update|upsert|delete)$/.exec(name) ?? []
    return (
      isCredentialField(rules.credentialFields, name) ||
      (record !== undefined && isCredentialRecord(rules, record, ['POST']))
    )
  })
}

/** By the path at which a record of this type would be called alone. */
function isCredentialRecord(
  { recordPaths, credentials }: PresetRules,
  type: string,
  methods: readonly string[],
): boolean {
  return recordPaths.some((path) => {
    // Salesforce puts a value of an earlier answer in place of `@{account.Name}`.
    if (type.includes('@{')) return true
    const readings = readingsOf(`${path}/${type}`)
    return credentials.some((rule) => matchesRule(rule, readings, methods))
  })
}
