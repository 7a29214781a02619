/**
 * Validates requests against their route's schema. The number of members is checked first: TypeBox would take seconds for a
 * million members, and block the event loop.
 */
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { Pointer, Value } from 'typebox/value'
import { memoizeByObject } from '../cache/memoize.ts'

/** The parts of a JSON schema that are read here. */
interface ObjectSchema {
  type?: string
  required?: readonly string[]
  properties?: Record<string, ObjectSchema>
  additionalProperties?: unknown
  maxProperties?: number
}

/** Text is converted to numbers in queries and paths, never in bodies. */
const validatorOf = {
  bodies: memoizeByObject(TypeBoxValidatorCompiler, ({ schema }) => schema),
  others: memoizeByObject(TypeBoxValidatorCompiler, ({ schema }) => schema),
}

/** Compiles a schema at its first request, which takes a millisecond: all of them would take an eighth of a start. */
export const validatorCompiler: typeof TypeBoxValidatorCompiler = (route) => {
  const isBody = route.httpPart === 'body'
  let validate: ReturnType<typeof TypeBoxValidatorCompiler> | undefined
  return (value: unknown) => {
    validate ??= isBody ? validatorOf.bodies(route) : validatorOf.others(route)
    const tooMany = findTooManyMembers(route.schema, value, '')
    const found = tooMany ?? (isBody ? undefined : findOddNumber(route.schema, value))
    if (found) return { error: [found] }
    if (isBody) dropNulls(route.schema, value)
    const judged = validate(value) as { error?: FastifySchemaValidationError[] }
    return judged.error ? { error: judged.error.map((one) => withExamples(route.schema, one)) } : judged
  }
}

/** An explicit null for an optional member means that it is absent, unless its schema allows null. */
function dropNulls(schema: ObjectSchema, value: unknown): void {
  const optional = optionalMembers(schema)
  if (optional.length === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return
  const members = value as Record<string, unknown>
  for (const { name, member, takesNull } of optional) {
    if (!Object.hasOwn(members, name)) continue
    if (members[name] !== null) dropNulls(member, members[name])
    else if (!takesNull) Reflect.deleteProperty(members, name)
  }
}

/** Members that `dropNulls` has to look at: optional ones, and nested objects. */
const optionalMembers = memoizeByObject(({ properties = {}, required = [] }: ObjectSchema) =>
  Object.entries(properties)
    .map(([name, member]) => ({
      name,
      member,
      takesNull: required.includes(name) || Value.Check(member as TSchema, null),
    }))
    .filter(({ member, takesNull }) => !takesNull || member.properties !== undefined),
)

/** Adds the schema's examples, for a message that people understand better than a regular expression. */
function withExamples(schema: object, error: FastifySchemaValidationError): FastifySchemaValidationError {
  if (error.keyword !== 'pattern') return error
  const { examples } = (Pointer.Get(schema, error.schemaPath.slice(1)) ?? {}) as { examples?: string[] }
  return { ...error, params: { ...error.params, ...(examples && { examples }) } }
}

/** TypeBox would also convert `true`, `0x10` or `1.9` to an integer. */
function findOddNumber({ properties = {} }: ObjectSchema, value: unknown): FastifySchemaValidationError | undefined {
  const members = Object.entries((value ?? {}) as Record<string, unknown>)
  const odd = members.find(([name, member]) => {
    const isInteger = Object.hasOwn(properties, name) && properties[name]?.type === 'integer'
    return isInteger && typeof member === 'string' && !/^\d{1,9}$/.test(member)
  })
  return odd && fault('type', `/${odd[0]}`, '#/type', 'must be integer', { type: 'integer' })
}

function findTooManyMembers(
  { properties = {}, additionalProperties, maxProperties }: ObjectSchema,
  value: unknown,
  instancePath: string,
): FastifySchemaValidationError | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const names = Object.keys(value)
  if (additionalProperties === false && names.length > Object.keys(properties).length) {
    const unknown = names.find((name) => !Object.hasOwn(properties, name)) ?? ''
    const member = unknown.replaceAll('~', '~0').replaceAll('/', '~1')
    return fault('boolean', `${instancePath}/${member}`, '#/additionalProperties', 'is unknown')
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    const message = `must not have more than ${maxProperties} properties`
    return fault('maxProperties', instancePath, '#/maxProperties', message)
  }
  for (const [name, member] of objectsIn(properties)) {
    const found = findTooManyMembers(member, (value as Record<string, unknown>)[name], `${instancePath}/${name}`)
    if (found) return found
  }
  return undefined
}

/** Members that are objects themselves. */
const objectsIn = memoizeByObject((properties: Record<string, ObjectSchema>) =>
  Object.entries(properties).filter(
    ([, { properties: inner, additionalProperties, maxProperties }]) =>
      inner !== undefined || additionalProperties === false || maxProperties !== undefined,
  ),
)

function fault(keyword: string, instancePath: string, schemaPath: string, message: string, params = {}) {
  return { keyword, instancePath, schemaPath, message, params }
}
