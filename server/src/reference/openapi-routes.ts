import swagger from '@fastify/swagger'
import { ErrorBody } from '@sallyport/protocol/schema'
import { describeAnswer } from './response-descriptions.ts'
import type { Http } from '../platform/http/http.ts'
import { publicDocument } from '../platform/http/public-document.ts'

const securitySchemes = {
  agent: { type: 'http', scheme: 'bearer', description: 'The agent token, from POST /v4/agents/register' },
  tool: { type: 'http', scheme: 'bearer', description: 'A key for tools, from POST /v4/agents/keys' },
  user: { type: 'http', scheme: 'bearer', description: 'A session token, from POST /v4/auth/login' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'svc_session', description: 'The same session as a browser cookie' },
  device: { type: 'http', scheme: 'bearer', description: "A device's session token, from POST /v4/devices/pair" },
  admin: { type: 'http', scheme: 'bearer', description: 'The admin token' },
} as const

/** Generates the OpenAPI reference from the routes themselves. Has to be registered before them. */
export async function describeRoutes(http: Http, baseUrl: URL): Promise<void> {
  /** The error response is the same everywhere: it is converted for this route alone, as each takes a millisecond. */
  let first: object | undefined
  let isYaml = false
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sallyport',
        version: '4.0.0',
        description: "Lets AI agents use a person's accounts without ever holding the person's credentials.",
      },
      servers: [{ url: baseUrl.origin }],
      components: { securitySchemes },
    },
    transform: ({ schema, url, route }) => {
      const allow = url.startsWith('/v') ? route.config?.allow : undefined
      if (allow === undefined || schema.hide) return { schema: { ...schema, hide: true }, url }
      const actors = allow === 'anyone' ? [] : allow.flatMap((kind) => (kind === 'user' ? ['user', 'cookie'] : [kind]))
      const isFirst = (first ??= route) === route
      const error = isFirst && { default: { description: 'Error', ...ErrorBody } }
      const response = { ...described(schema.response as object), ...error }
      return { schema: { ...schema, security: actors.map((name) => ({ [name]: [] })), response }, url }
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      const paths = Object.values(document.openapiObject.paths ?? {})
      const operations = paths.flatMap((path) => Object.values(path ?? {}) as Operation[])
      const error = operations.find(({ responses }) => responses?.default)?.responses?.default
      for (const operation of operations) {
        admitNoBody(operation)
        // All operations have the same object: a copy for each would take 1.5 MB.
        if (error) operation.responses = { ...operation.responses, default: isYaml ? structuredClone(error) : error }
      }
      return document.openapiObject
    },
  })
  const json = publicDocument('application/json; charset=utf-8', () => JSON.stringify(http.swagger()))
  const yaml = publicDocument('application/yaml; charset=utf-8', () => {
    // Otherwise all but the first would be aliases, which some readers don't know.
    isYaml = true
    return http.swagger({ yaml: true })
  })
  for (const path of ['/openapi.json', '/docs/json']) http.get(path, { schema: { hide: true } }, json)
  http.get('/docs/yaml', { schema: { hide: true } }, yaml)
}

/** Generates the reference, so that it doesn't block the event loop at the first request. */
export function generateReference(http: Http): void {
  http.swagger()
}

function described(answers: object): object {
  const entries = Object.entries(answers).map(([status, schema]: [string, object]) => {
    const description = describeAnswer(schema)
    return [status, description === undefined ? schema : { ...schema, description }]
  })
  return Object.fromEntries(entries) as object
}

/** A body without required members is optional. One without any members is not documented. */
function admitNoBody(operation: Operation): void {
  const body = operation.requestBody
  const schema = body?.content['application/json']?.schema
  if (!body || !schema) return
  if (Object.keys(schema.properties ?? {}).length === 0) delete operation.requestBody
  else body.required = (schema.required ?? []).length > 0
}

interface Operation {
  responses?: { default?: object }
  requestBody?: {
    required?: boolean
    content: Record<string, { schema?: { properties?: object; required?: string[] } }>
  }
}
