/** Writes answers as Fastify does, but compiles a schema when it is first needed, and none twice: a start would mostly wait for that. */
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { oncePerSchema } from './once-per-schema.ts'

type SerializerCompiler = NonNullable<FastifyInstance['serializerCompiler']>

let shared: Promise<SerializerCompiler> | undefined

export async function serializerCompiler(): Promise<SerializerCompiler> {
  shared ??= fastifysOwn().then((compile) => oncePerSchema((route) => onceNeeded(() => compile(route))))
  return await shared
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
