import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from '@fastify/type-provider-typebox'
import { serializerCompiler, withoutUnions } from './serialization.ts'
import { validatorCompiler } from './validation.ts'

const route = { method: 'GET', url: '/' }

test('a schema shared by query and body coerces numbers only in the query', () => {
  const schema = Type.Object({ limit: Type.Integer() })
  const judge = (httpPart: string) => validatorCompiler({ ...route, schema, httpPart })({ limit: '5' }) as object
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(judge('querystring'), { value: { limit: 5 } })
    assert.ok('error' in judge('body'))
  }
})

test('a response contains only the members of its schema', async () => {
  const compile = await serializerCompiler()
  const write = (schema: object) => compile({ ...route, schema })({ id: 'a', token: 'b' })
  const [view, issued] = [
    Type.Object({ id: Type.String() }, { additionalProperties: false }),
    Type.Object({ id: Type.String(), token: Type.String() }, { additionalProperties: false }),
  ]
  assert.deepEqual([write(view), write(issued), write(view)], ['{"id":"a"}', '{"id":"a","token":"b"}', '{"id":"a"}'])
})

test('unions are serialised without a validator', async () => {
  const compile = await serializerCompiler()
  const schema = Type.Object({
    text: Type.Union([Type.String(), Type.Null()]),
    list: Type.Array(Type.Union([Type.Null(), Type.Object({ a: Type.Integer() }, { additionalProperties: false })])),
    header: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    level: Type.Optional(Type.Union([Type.Literal('low'), Type.Literal('high')])),
    provider: Type.Optional(
      Type.Union([
        Type.Object({ id: Type.String(), secret_set: Type.Boolean(), note: Type.Union([Type.String(), Type.Null()]) }),
        Type.Object({ id: Type.String(), note: Type.String() }),
      ]),
    ),
  })
  const write = compile({ ...route, schema })
  const values = [
    { text: null, list: [null, { a: 1 }] },
    { text: 'null', list: [] },
    { text: 'a', list: [], header: 'b', level: 'low', provider: { id: 'c', note: 'd' } },
    { text: 'a', list: [], header: ['b', 'c'], level: 'high', provider: { id: 'c', secret_set: true, note: null } },
  ]
  for (const value of values) assert.deepEqual(JSON.parse(write(value)), value)
  assert.equal(write({ text: '', list: [{ a: 1, secret: 'b' }] }), '{"text":"","list":[{"a":1}]}')
  assert.doesNotMatch(JSON.stringify(withoutUnions(schema)), /anyOf/)
})
