/** Writes answers as Fastify does, but compiles a schema when it is first needed, and none twice: a start would mostly wait for that. */
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { oncePerSchema } from './once-per-schema.ts'

type SerializerCompiler = NonNullable<FastifyInstance['serializerCompiler']>

let shared: Promise<SerializerCompiler> | undefined

export async function serializerCompiler(): Promise<SerializerCompiler> {
  shared ??= fastifysOwn().then((compile) =>
    oncePerSchema((route) => onceNeeded(() => compile({ ...route, schema: withNullable(route.schema) }))),
  )
  return await shared
}

/**
 * Which side of an `anyOf` a value is on is asked of a validator, which takes 50 ms to compile at its first use. What is
 * one thing or null, as most of them are, is written without one where it is called nullable.
 */
export function withNullable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNullable)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = schema as { anyOf?: { type?: unknown }[] }
  const others = anyOf?.filter(({ type }) => type !== 'null')
  if (anyOf?.length === 2 && others?.length === 1) {
    return { ...rest, ...(withNullable(others[0]) as object), nullable: true }
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withNullable(value)]))
}

function onceNeeded(compile: () => ReturnType<SerializerCompiler>): ReturnType<SerializerCompiler> {
  let compiled: ReturnType<SerializerCompiler> | undefined
  return (answer) => (compiled ??= compile())(answer)
}

/** Fastify makes it when a route first needs one, and hands it out from then on. */
async function fastifysOwn(): Promise<SerializerCompiler> {
  const http = fastify()
  http.get('/', { schema: { response: { 200: { type: 'null' } } } }, () => null)
  await http.ready()
  const compiler = http.serializerCompiler
  await http.close()
  if (!compiler) throw new Error('Fastify has made no serializer.')
  return compiler
}
