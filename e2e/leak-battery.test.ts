/**
 * The upstream gives away the token that it was called with, in every form, place and framing, in both modes. Each
 * reflection is first read from the upstream itself, where it must show the token, and then through the service.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
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

/** Not in the answer at all: the first by rule, the others because an envelope has no place for them. */
const neverInEnvelopes: Place[] = ['cookie', 'trailer', 'status text']

const sample = 'AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_abcdefg'

function fits(form: SecretForm, place: Place): boolean {
  if (place === 'body' || place === 'json') return true
  const bytes = form.encode(sample)
  return place === 'header name' ? fitsHeaderName(bytes) : form.fitsHeader && fitsHeader(bytes)
}

const inEveryPlace: Case[] = secretForms.flatMap((of) =>
  places
    .filter((place) => fits(of, place))
    .flatMap((place) => [200, 500].map((status) => ({ of, form: of.name, place, framing: 'whole' as const, status }))),
)

const inEveryFraming: Case[] = secretForms.flatMap((of) =>
  framings
    .filter((framing) => framing !== 'whole' && framing !== 'split')
    .map((framing) => ({ of, form: of.name, place: 'body' as const, framing })),
)

/** One form of each kind: of those that are all alike, one stands for the others. */
const splitForms = ['plain', 'percent, upper case', 'JSON \\u', 'entity, hex', 'hex', 'base64', 'base64url, after "B"']
const splitEverywhere: Case[] = secretForms
  .filter(({ name }) => splitForms.includes(name) || name.startsWith('UTF-16'))
  .flatMap((of) =>
    Array.from(of.encode(sample), (_, at) => ({
      of,
      form: of.name,
      place: 'body' as const,
      framing: 'split' as const,
      at,
    })),
  )

/** What of the token is in there, in the form that was asked for; a header's name counts in lower case too. */
function shown({ of, place }: Case, secret: string, parts: Buffer[]): string | undefined {
  const lower = (bytes: Buffer) => Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1')
  const inLower = { ...of, encode: (text: string) => lower(of.encode(text)) }
  const all = Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n\n')]))
  return leftOf(all, of, secret) ?? (place === 'header name' ? leftOf(lower(all), inLower, secret) : undefined)
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

describe('a token that the upstream gives away', () => {
  let calling: Calling
  let upstream: RawUpstream
  let secret = ''
  const endings: (() => unknown)[] = []
  const tried = new Map<string, { whole: number; streamed: number }>()
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startReflectingUpstream(scope, secretForms)
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host] })
    await calling.proxy(`https://${upstream.host}/`)
    secret = (upstream.requests[0]?.headers['authorization'] ?? '').replace(/^Bearer /, '')
    assert.ok(secret.length > 20)
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  const count = ({ form }: Case, mode: 'whole' | 'streamed') => {
    const counts = tried.get(form) ?? { whole: 0, streamed: 0 }
    counts[mode]++
    tried.set(form, counts)
  }

  const fromUpstream = (one: Case): Promise<RawAnswer> =>
    readRaw({
      host: 'localhost',
      port: upstream.port,
      path: reflectionPath(one),
      headers: { authorization: `Bearer ${secret}`, connection: 'close' },
      ca: readFileSync(upstream.caFile, 'utf8'),
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

  const describeCase = ({ form, place, framing, at, status }: Case) =>
    `${form} in ${place}, ${framing}${at === undefined ? '' : ` at ${at}`}, ${status ?? 200}`

  const isShownByUpstream = async (one: Case) => {
    const { around, body } = await fromUpstream(one)
    assert.ok(shown(one, secret, [around, body]) !== undefined, `the upstream does not show ${describeCase(one)}`)
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
    assert.equal(shown(one, secret, [around, body, inner]), undefined, `leaked: ${describeCase(one)}`)
    if (!neverInEnvelopes.includes(one.place)) {
      assert.ok(answer.redactions > 0, `nothing was taken out of ${describeCase(one)}`)
    }
    count(one, 'whole')
  }

  const isHiddenInStream = async (one: Case) => {
    const { status, around, body } = await throughService(one, { stream: true })
    assert.equal(status, one.status ?? 200, `${describeCase(one)}: ${body.toString()}`)
    assert.equal(shown(one, secret, [around, body]), undefined, `leaked: ${describeCase(one)}`)
    if (one.place === 'body') {
      const text = body.toString('latin1')
      assert.ok(text.includes('before ') && text.endsWith(' after'), `more than the token went in ${describeCase(one)}`)
    }
    count(one, 'streamed')
  }

  for (const [what, cases] of Object.entries({ place: inEveryPlace, framing: inEveryFraming })) {
    test(`in every form and ${what}: the upstream shows it`, () => inTurns(cases, isShownByUpstream))
    test(`in every form and ${what} does not come back in an envelope`, () => inTurns(cases, isHiddenInEnvelope))
    test(`in every form and ${what} does not come back in a stream`, () => inTurns(cases, isHiddenInStream))
  }

  test('split at every byte does not come back in a stream', async () => {
    const cases = splitEverywhere.filter(({ of, at = 0 }) => at < of.encode(secret).length)
    assert.ok(cases.length > 500)
    await inTurns(cases, isHiddenInStream)
  })

  test('is what the table in docs/redaction.md is about', () => {
    const file = join(import.meta.dirname, '../docs/redaction.md')
    const rows = [...tried].map(
      ([form, { whole, streamed }]) => `| ${form.replaceAll('|', '\\|')} | ${whole} | ${streamed} |`,
    )
    const table = ['| form | whole answers | streams |', '|---|---|---|', ...rows].join('\n')
    const page = readFileSync(file, 'utf8')
    const renewed = page.replace(/(<!-- battery -->).*(<!-- \/battery -->)/s, (_, start: string, end: string) => {
      return `${start}\n\n${table}\n\n${end}`
    })
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, renewed)
    else assert.equal(page, renewed, 'run this file again with UPDATE_DOCS=1')
  })
})
