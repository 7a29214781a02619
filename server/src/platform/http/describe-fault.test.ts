import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { ApproveCallBody } from '@sallyport/protocol/calls'
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import { toServiceError } from './error-replies.ts'
import { validatorCompiler } from './validation.ts'

const protocol = resolve(import.meta.dirname, '../../../../protocol/src')

/** What the service answers to a body or query. Undefined if it is right. */
function answer(schema: TSchema, httpPart: 'body' | 'querystring', value: unknown) {
  const validate = validatorCompiler({ schema, httpPart, method: 'POST', url: '/' })
  const judged = validate(value) as { error?: FastifySchemaValidationError[] }
  if (!judged.error) return undefined
  const { code, field, publicMessage } = toServiceError({ validation: judged.error, validationContext: httpPart })
  return { code, field, message: publicMessage } as { code: ErrorCode; field: string; message: string }
}

/** None is right for many members. */
const odd = [7, -1, 1e15, 1.5, '', 'x', 'a\u202eb', 'x'.repeat(70_000), true, [], [7, 7], ['', ''], {}, { x: {} }]
/** How the validator speaks: of its schema. */
const raw = /schema|anyOf|oneOf|format "|pattern|propert|NOT|items|\[object|undefined|constant/

test('what is wrong with any member of any request is said in words', async () => {
  const said = new Set<string>()
  for (const file of readdirSync(protocol).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const exported = Object.entries((await import(`${protocol}/${file}`)) as Record<string, unknown>)
    for (const [name, given] of exported.filter(([one]) => /(?:Body|Query)$/.test(one))) {
      const schema = given as TSchema & { properties?: object }
      const part = name.endsWith('Query') ? 'querystring' : 'body'
      const whole = Object.fromEntries(Object.keys(schema.properties ?? {}).map((member) => [member, 'x']))
      for (const member of Object.keys(whole)) {
        for (const value of odd) {
          const found = answer(schema, part, { ...whole, [member]: value })
          if (found?.code !== 'invalid_field') continue
          assert.match(found.message, /^"[^"]+" (?:must|is|does) .*\.$/s, `${name}.${member}`)
          const words = found.message.slice(found.field.length + 2)
          if (!/must be one of/.test(words)) assert.doesNotMatch(words, raw, `${name}.${member}`)
          said.add(found.message)
        }
      }
    }
  }
  assert.ok(said.size > 50, `${said.size} messages`)
  assert.ok(said.has('"email" must be an email address such as ada@example.com.'))
})

test('of several alternatives all are named', () => {
  const found = answer(ApproveCallBody, 'body', { repeat_for_seconds: 7 })
  assert.deepEqual(found, {
    code: 'invalid_field',
    field: 'repeat_for_seconds',
    message: '"repeat_for_seconds" must be 900 or 3600.',
  })
})
