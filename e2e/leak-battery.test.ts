/**
 * The upstream returns the token that it was called with, in every form, place and framing, in both modes. Each
 * reflection is first read from the upstream itself, where it must show the token, and then through the service.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RawUpstream } from '../server/testkit/raw-http.ts'
import {
  fitsHeader,
  fitsHeaderName,
  framings,
  places,
  reflectionPath,
  startReflectingUpstream,
} from '../server/testkit/reflecting-upstream.ts'
import type { Place, Reflection } from '../server/testkit/reflecting-upstream.ts'
import { leftOf, secretForms } from '../server/testkit/secret-forms.ts'
import type { SecretForm } from '../server/testkit/secret-forms.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { readRaw } from './raw-answers.ts'
import type { RawAnswer } from './raw-answers.ts'

type Case = Reflection & { of: SecretForm }

/** Not in the response at all: the first by rule, the others because an envelope has no place for them. */
const neverInEnvelopes: Place[] = ['cookie', 'trailer', 'status text']

/** Fixed, so that every run is the same. The first has characters that need escaping in some forms. */
const tokens = {
  access_token: 'ya29.a0-Zq_7Tf~K+4mP/x9LwRb2=VcYh8sNd1GuJe6Ao',
  refresh_token: '1//0gQf3-Hk8_vXrT5yBzMw2nLp7CsDa9EiUo4JtR6',
}
const secret = tokens.access_token

function fits(form: SecretForm, place: Place): boolean {
  if (place === 'body' || place === 'json') return true
  const bytes = form.encode(secret)
  return place === 'header name' ? fitsHeaderName(bytes) : form.fitsHeader && fitsHeader(bytes)
}

const inEveryPlace: Case[] = secretForms.flatMap((of) =>
  places
    .filter((place) => fits(of, place))
    .map((place) => ({ of, form: of.name, place, framing: 'whole' as const, status: 200 })),
)

const inErrors: Case[] = inEveryPlace.filter(({ place }) => place === 'json').map((one) => ({ ...one, status: 500 }))

const inEveryFraming: Case[] = secretForms.flatMap((of) =>
  framings
    .filter((framing) => framing !== 'whole' && framing !== 'split')
    .map((framing) => ({ of, form: of.name, place: 'body' as const, framing })),
)

/** One form of each kind, where several are alike. */
const splitForms = [
  ...['plain', 'percent, upper case', 'JSON \\u', 'entity, hex', 'hex', 'base64', 'base64url, after "B"'],
  ...['decimal bytes', 'decimal bytes, one on a line'],
]
const splitEverywhere: Case[] = secretForms
  .filter(({ name }) => splitForms.includes(name) || name.startsWith('UTF-16'))
  .map((of) => ({ of, form: of.name, place: 'body', framing: 'split' }))

/** The part of the token that it contains, in this form; header names are checked in lower case too. */
function shown({ of, place, whose }: Case, parts: Buffer[]): string | undefined {
  const given = whose === 'refresh' ? tokens.refresh_token : secret
  const all = Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n\n')]))
  return leftOf(all, of, given) ?? (place === 'header name' ? leftInLowerCase(all, of, given) : undefined)
}

/** In lower case a form is found from a few characters further on, so that many of the token's first may be left. */
const leftInNames = 3

function leftInLowerCase(output: Buffer, { encode }: SecretForm, given: string): string | undefined {
  const lower = (bytes: Buffer) => bytes.toString('latin1').toLowerCase()
  const encoded = lower(encode(given))
  const sameStart = lower(encode(given.slice(0, leftInNames) + 'q'.repeat(given.length - leftInNames)))
  const pieces = Array.from({ length: Math.max(0, encoded.length - 23) }, (_, from) => encoded.slice(from, from + 24))
  return pieces.find((piece) => lower(output).includes(piece) && !sameStart.includes(piece))
}

/** Continues after a failure, as the set of failures shows the cause. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items]
  const failures: string[] = []
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      try {
        await work(item)
      } catch (error) {
        failures.push((error as Error).message.split('\n')[0] ?? '')
      }
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  assert.deepEqual(failures, [])
}

/** As a formatter would print it. */
function alignedTable(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [first = [], ...rest] = rows
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n')
}

describe('a token that the upstream returns', () => {
  let calling: Calling
  let upstream: RawUpstream
  let ca: string
  const connections = new Agent({ keepAlive: true })
  const endings: (() => unknown)[] = []
  const tried = new Map<string, { whole: number; streamed: number }>()
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startReflectingUpstream(scope, secretForms, { refresh: tokens.refresh_token })
    ca = readFileSync(upstream.caFile, 'utf8')
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host], tokens })
  })
  after(async () => {
    connections.destroy()
    for (const ending of endings) await ending()
  })

  const count = ({ form }: Case, mode: 'whole' | 'streamed', copies = 1) => {
    const counts = tried.get(form)
    if (counts) counts[mode] += copies
  }

  const fromUpstream = (one: Case): Promise<RawAnswer> =>
    readRaw({
      host: 'localhost',
      port: upstream.port,
      path: reflectionPath(one),
      headers: { authorization: `Bearer ${secret}` },
      agent: connections,
      ca,
    })

  const throughService = (one: Case, call: object): Promise<RawAnswer> =>
    readRaw(
      {
        host: '127.0.0.1',
        port: calling.service.port,
        method: 'POST',
        path: '/v4/proxy',
        headers: {
          host: `localhost:${calling.service.port}`,
          authorization: `Bearer ${calling.agent.token}`,
          'content-type': 'application/json',
        },
      },
      JSON.stringify({
        grant_id: calling.grantId,
        method: 'GET',
        url: `https://${upstream.host}${reflectionPath(one)}`,
        ...call,
      }),
    )

  const describeCase = ({ form, place, framing, status }: Case) => `${form} in ${place}, ${framing}, ${status ?? 200}`

  const isShownByUpstream = async (one: Case) => {
    const { around, body } = await fromUpstream(one)
    assert.ok(shown(one, [around, body]) !== undefined, `the upstream does not show ${describeCase(one)}`)
  }

  const isHiddenInEnvelope = async (one: Case) => {
    const { status, around, body } = await throughService(one, {})
    assert.equal(status, 200, `${describeCase(one)}: ${body.toString()}`)
    const answer = JSON.parse(body.toString()) as { body: unknown; body_encoding: string; redactions: number }
    const { body: given, body_encoding: encoding } = answer
    const inner =
      typeof given === 'string'
        ? Buffer.from(given, encoding === 'base64' ? 'base64' : 'utf8')
        : Buffer.from(JSON.stringify(given))
    assert.equal(shown(one, [around, body, inner]), undefined, `leaked: ${describeCase(one)}`)
    if (!neverInEnvelopes.includes(one.place)) {
      assert.ok(answer.redactions > 0, `nothing was taken out of ${describeCase(one)}`)
    }
    count(one, 'whole')
  }

  const isHiddenInStream = async (one: Case) => {
    const { status, around, body } = await throughService(one, { stream: true })
    assert.equal(status, one.status ?? 200, `${describeCase(one)}: ${body.toString()}`)
    assert.equal(shown(one, [around, body]), undefined, `leaked: ${describeCase(one)}`)
    if (one.place === 'body') {
      const text = body.toString('latin1')
      assert.ok(text.includes('before ') && text.endsWith(' after'), `more than the token went in ${describeCase(one)}`)
    }
    count(one, 'streamed')
  }

  /** The copies come back on a line each. */
  const isHiddenAtEveryByte = async (one: Case) => {
    const { status, around, body } = await throughService(one, { stream: true })
    assert.equal(status, 200, `${describeCase(one)}: ${body.toString()}`)
    const copies = body.toString('latin1').split(' after\n').slice(0, -1)
    assert.equal(copies.length, one.of.encode(secret).length, `more than the token went in ${describeCase(one)}`)
    copies.forEach((copy, at) => {
      const where = `${describeCase(one)} at ${at}`
      assert.ok(copy.startsWith('before '), `more than the token went in ${where}`)
      assert.equal(shown(one, [around, Buffer.from(copy, 'latin1')]), undefined, `leaked: ${where}`)
    })
    count(one, 'streamed', copies.length)
  }

  // The order of the table is that of the forms.
  for (const { name } of secretForms) tried.set(name, { whole: 0, streamed: 0 })

  for (const [what, cases] of Object.entries({ place: [...inEveryPlace, ...inErrors], framing: inEveryFraming })) {
    test(`in every form and ${what}: the upstream returns it`, () => inTurns(cases, isShownByUpstream))
    test(`in every form and ${what} is redacted in an envelope`, () => inTurns(cases, isHiddenInEnvelope))
    test(`in every form and ${what} is redacted in a stream`, () => inTurns(cases, isHiddenInStream))
  }

  test('for refreshing is redacted too', async () => {
    const cases = inEveryPlace.filter(({ place }) => place === 'body').map((one) => ({ ...one, whose: 'refresh' }))
    await inTurns(cases, isShownByUpstream)
    await inTurns(cases, isHiddenInEnvelope)
    await inTurns(cases, isHiddenInStream)
  })

  test('split at every byte is redacted in a stream', async () => {
    await inTurns(splitEverywhere, isShownByUpstream)
    await inTurns(splitEverywhere, isHiddenAtEveryByte)
  })

  test('matches the table in docs/redaction.md', () => {
    const file = join(import.meta.dirname, '../docs/redaction.md')
    const rows = [...tried].map(([form, { whole, streamed }]) => [`\`${form}\``, String(whole), String(streamed)])
    const table = alignedTable([['form', 'whole answers', 'streams'], ...rows])
    const page = readFileSync(file, 'utf8')
    const renewed = page.replace(/(<!-- battery -->).*(<!-- \/battery -->)/s, (_, start: string, end: string) => {
      return `${start}\n\nHow often each was tried, in all places and framings. None came back.\n\n${table}\n\n${end}`
    })
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, renewed)
    else assert.equal(page, renewed, 'run this file again with UPDATE_DOCS=1')
  })
})
