import swagger from '@fastify/swagger'
import { ErrorBody } from '@sallyport/protocol/schema'
import { codeSamples } from './code-samples.ts'
import type { CodeSample } from './code-samples.ts'
import { exampleBodies } from './example-bodies.ts'
import { nameSchemas } from './named-schemas.ts'
import { operationIds } from './operation-ids.ts'
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
      const { openapiObject: openapi } = document
      // A route with several methods is the same object in each of them.
      const operations = Object.entries(openapi.paths ?? {}).flatMap(([path, methods = {}]) =>
        Object.keys(methods).map((method) => {
          const holder = methods as Record<string, Operation>
          const operation = (holder[method] = { ...holder[method] } as Operation)
          return { operation, method: method.toUpperCase(), path }
        }),
      )
      for (const { operation } of operations) admitNoBody(operation)
      const schemas = nameSchemas({ ...openapi.paths })
      for (const { operation, method, path } of operations) {
        addExamples(operation, method, path, baseUrl)
        operation.responses = { ...operation.responses, default: anyError() }
      }
      openapi.components = { ...openapi.components, schemas }
      return openapi
    },
  })
  const json = publicDocument('application/json; charset=utf-8', () => JSON.stringify(http.swagger()))
  const yaml = publicDocument('application/yaml; charset=utf-8', () => http.swagger({ yaml: true }))
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

/** What a reader copies, and what generators name their functions after. */
function addExamples(operation: Operation, method: string, path: string, baseUrl: URL): void {
  operation.operationId = operationIds[`${method} ${path}`]
  const body = operation.requestBody && exampleBodies[operation.operationId ?? '']
  const content = operation.requestBody?.content['application/json']
  if (content && body) content.example = body
  const [actor] = operation.security.flatMap((scheme) => Object.keys(scheme))
  operation['x-code-samples'] = codeSamples({ method, url: baseUrl.origin + path, actor, body })
}

/** A body without required members is optional. One without any members is not documented. */
function admitNoBody(operation: Operation): void {
  const body = operation.requestBody
  const schema = body?.content['application/json']?.schema
  if (!body || !schema) return
  if (Object.keys(schema.properties ?? {}).length === 0) delete operation.requestBody
  else body.required = (schema.required ?? []).length > 0
}

/** A new one each time: YAML writes a repeated object as an alias, which some readers don't know. */
const anyError = () => ({
  description: 'Error',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
})

interface Operation {
  operationId?: string | undefined
  responses?: object
  security: Record<string, unknown>[]
  requestBody?: {
    required?: boolean
    content: Record<string, { schema?: { properties?: object; required?: string[] }; example?: object }>
  }
  'x-code-samples'?: CodeSample[]
}
