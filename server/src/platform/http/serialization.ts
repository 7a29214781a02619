/** Fastify's serializers, but each schema is compiled once and when first needed: compiling would take most of the start. */
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { memoizeByObject } from '../cache/memoize.ts'

type SerializerCompiler = NonNullable<FastifyInstance['serializerCompiler']>
type Route = Parameters<SerializerCompiler>[0]

let shared: Promise<SerializerCompiler> | undefined

export async function serializerCompiler(): Promise<SerializerCompiler> {
  shared ??= fastifysOwn().then((compile) =>
    memoizeByObject(
      (route: Route) => onceNeeded(() => compile({ ...route, schema: withoutUnions(route.schema) })),
      ({ schema }) => schema as object,
    ),
  )
  return await shared
}

interface Schema {
  type?: string | string[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  nullable?: boolean
  const?: unknown
}

/**
 * For `anyOf` the serializer asks a validator which branch a value matches, and that takes 50–100 ms to compile. A single
 * schema that allows what any branch allows gives the same output without one.
 */
export function withoutUnions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUnions)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, withoutUnions(value)]),
  ) as Schema
  if (!anyOf) return rest
  const sides = anyOf.filter(({ type }) => type !== 'null')
  return { ...rest, ...sides.reduce(either), ...(sides.length < anyOf.length && { nullable: true }) }
}

function either(one: Schema, other: Schema): Schema {
  const merged: Schema = { ...one, ...other }
  // The serializer would always write this one literal.
  delete merged.const
  // Sorted, so that 'string' comes last: the serializer accepts any value as a string.
  const types = new Set([one.type ?? [], other.type ?? []].flat().sort())
  if (types.size > 1) merged.type = [...types]
  if (one.nullable) merged.nullable = true
  if (one.items && other.items) merged.items = either(one.items, other.items)
  if (one.properties && other.properties) {
    merged.properties = { ...one.properties, ...other.properties }
    for (const [name, schema] of Object.entries(one.properties)) {
      const others = other.properties[name]
      if (others) merged.properties[name] = either(schema, others)
    }
    merged.required = (one.required ?? []).filter((name) => other.required?.includes(name))
  }
  return merged
}

function onceNeeded(compile: () => ReturnType<SerializerCompiler>): ReturnType<SerializerCompiler> {
  let compiled: ReturnType<SerializerCompiler> | undefined
  return (answer) => (compiled ??= compile())(answer)
}

/** Fastify creates its compiler when the first route needs one. */
async function fastifysOwn(): Promise<SerializerCompiler> {
  const http = fastify()
  http.get('/', { schema: { response: { 200: { type: 'null' } } } }, () => null)
  await http.ready()
  const compiler = http.serializerCompiler
  await http.close()
  if (!compiler) throw new Error('Fastify has made no serializer.')
  return compiler
}
