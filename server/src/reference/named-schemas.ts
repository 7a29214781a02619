/**
 * Gives the schemas of the protocol their names in the reference: each is described once, under `components`, and referred
 * to from wherever it is used. Without that, generated clients have no types to name, and the document is five times as long.
 */
import * as accessRequests from '@sallyport/protocol/access-requests'
import * as agents from '@sallyport/protocol/agents'
import * as audit from '@sallyport/protocol/audit'
import * as calls from '@sallyport/protocol/calls'
import * as connections from '@sallyport/protocol/connections'
import * as devices from '@sallyport/protocol/devices'
import * as gateway from '@sallyport/protocol/gateway'
import * as grants from '@sallyport/protocol/grants'
import * as health from '@sallyport/protocol/health'
import * as pauses from '@sallyport/protocol/pauses'
import * as providers from '@sallyport/protocol/providers'
import * as proxy from '@sallyport/protocol/proxy'
import * as sandbox from '@sallyport/protocol/sandbox'
import * as schema from '@sallyport/protocol/schema'
import * as sessions from '@sallyport/protocol/sessions'
import * as toolKeys from '@sallyport/protocol/tool-keys'
import * as v1 from '@sallyport/protocol/v1/bodies'

const rooms = [
  ...[accessRequests, agents, audit, calls, connections, devices, gateway, grants, health, pauses, providers, proxy],
  ...[sandbox, schema, sessions, toolKeys, v1],
]

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/**
 * Without its description: where a schema is a response, it describes that. A constant is written as the document does, as an
 * enumeration of one.
 */
function textOf(value: Json): string {
  const { description: _, ...others } = value
  return JSON.stringify(others, (_name, member: unknown) =>
    isObject(member) && typeof member['const'] === 'string' ? { type: 'string', enum: [member['const']] } : member,
  )
}

/** Replaces the named schemas within `paths` by references. Returns them by name. */
export function nameSchemas(paths: object): Record<string, object> {
  const nameOf = new Map<string, string>()
  for (const [name, value] of rooms.flatMap((room) => Object.entries<unknown>(room))) {
    if (!isObject(value) || value['type'] !== 'object') continue
    const text = textOf(value)
    if (!nameOf.has(text)) nameOf.set(text, name)
  }
  const named: Record<string, object> = {}
  const replace = (holder: Json) => {
    for (const [member, value] of Object.entries(holder)) {
      if (!isObject(value)) continue
      const name = value['type'] === 'object' ? nameOf.get(textOf(value)) : undefined
      if (name === undefined) {
        replace(value)
        continue
      }
      const { description } = value
      holder[member] = { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) }
      if (named[name]) continue
      named[name] = value
      replace(value)
    }
  }
  replace(paths as Json)
  return Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)))
}
