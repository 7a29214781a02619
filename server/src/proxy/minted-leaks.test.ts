/**
 * The provider echoes issued tokens, what encodes them, and the assertions that it has seen, in every form. Nothing of
 * it comes back, neither from its API nor from where it issues tokens.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Received } from '../../testkit/calling.ts'
import { startGitHubApp, startServiceAccount } from '../../testkit/minting.ts'
import { leftOf, secretForms } from '../../testkit/secret-forms.ts'
import { stored } from '../../testkit/stored.ts'

const starts = { github_app: startGitHubApp, google_service_account: startServiceAccount }
const places = ['body', 'header', 'gzip'] as const

for (const [kind, start] of Object.entries(starts)) {
  for (const mode of ['whole', 'streamed'] as const) {
    test(`${kind}: tokens and assertions are redacted in every form, ${mode}`, async (t) => {
      const { server, granted, upstream } = await start(t, 'sqlite')
      const { proxy } = await granted()
      await proxy()
      const [token = '', assertion = ''] = [server.tokens[0], server.assertions[0]]
      assert.ok(token.length > 40 && assertion.split('.').length === 3)
      const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
      const secrets: Record<string, string> = { token, assertion, ...(kind === 'github_app' && { basic }) }
      server.api = (response, { path }: Received) => {
        const query = new URL(path, 'https://localhost').searchParams
        const form = secretForms.find(({ name }) => name === query.get('form'))
        const shown = form?.encode(secrets[query.get('of') ?? ''] ?? '') ?? Buffer.alloc(0)
        const place = query.get('place')
        const page = Buffer.concat([Buffer.from('before '), shown, Buffer.from(' after')])
        response.writeHead(Number(query.get('status')), {
          'content-type': 'text/plain; charset=utf-8',
          ...(place === 'header' && { location: `https://localhost/?echo=${shown.toString('latin1')}` }),
          ...(place === 'gzip' && { 'content-encoding': 'gzip' }),
        })
        response.end(place === 'gzip' ? gzipSync(page) : place === 'header' ? 'nothing here' : page)
      }
      let tried = 0
      for (const [index, form] of secretForms.entries()) {
        for (const [of, secret] of Object.entries(secrets)) {
          // Base64 of base64 is found once more than any API would write it.
          if (of === 'basic' && /base64.*in base64/.test(form.name)) continue
          const place = places[form.fitsHeader ? index % 3 : 0] ?? 'body'
          const query = new URLSearchParams({ form: form.name, of, place, status: tried % 3 === 0 ? '500' : '200' })
          const url = `https://${upstream.host}/reflect?${query.toString()}`
          const { body, headers, text } = await proxy({ url, stream: mode === 'streamed' })
          const inner = mode === 'whole' && typeof body.body === 'string' ? body.body : ''
          const bytes = Buffer.from(inner, body?.body_encoding === 'base64' ? 'base64' : 'utf8')
          const all = Buffer.concat([Buffer.from(text), Buffer.from(JSON.stringify(headers)), bytes])
          const left = leftOf(all, form, secret)
          assert.equal(left, undefined, `${of} as ${form.name} in the ${place}: ${text.slice(0, 300)}`)
          assert.match(text, place === 'header' ? /nothing here/ : /before|REDACTED|base64/)
          tried++
        }
      }
      assert.ok(tried > 300, String(tried))
      // Its three parts, each alone.
      const [, claims = '', signature = ''] = assertion.split('.')
      server.api = (response) => response.end(`claims ${claims} signature ${signature}`)
      const parts = await proxy()
      assert.equal(parts.body.body, 'claims [REDACTED] signature [REDACTED]')
    })
  }

  test(`${kind}: assertions for renewed tokens and new credentials are redacted while they are valid`, async (t) => {
    const { server, granted, replace, clock } = await start(t, 'sqlite')
    const { connectionId, proxy } = await granted()
    server.api = (response) => {
      response.end(`the last one was ${server.assertions.at(-1)}`)
    }
    for (const [seconds, isReplaced] of [
      [3600, false],
      [60, true],
    ] as const) {
      const before = server.assertions.at(-1)
      clock.advance(seconds)
      if (isReplaced) await replace(connectionId, server.credential)
      assert.equal((await proxy()).body.body, 'the last one was [REDACTED]')
      assert.notEqual(server.assertions.at(-1), before)
    }
  })

  test(`${kind}: what a refusal echoes is in no answer, log or database`, async (t) => {
    const test = await start(t, 'sqlite')
    const { server, connect, granted, clock, log } = test
    const { proxy } = await granted()
    const answers = test.keepAnswers()
    const seen: string[] = []
    const pieces = server.tokens.concat(/MII[\w+/]{40}/.exec(JSON.stringify(server.credential)) ?? [])
    for (const status of [400, 401, 403, 404, 500, 201, 302]) {
      server.instead = (assertion) => {
        seen.push(assertion)
        const echo = `${assertion} ${pieces.join(' ')}`
        const body = { message: echo, error: echo, error_description: echo, token: { echo }, access_token: [echo] }
        return { status, headers: { 'x-debug': echo, location: `https://localhost/?${assertion}` }, body }
      }
      assert.ok((await connect(server.credential)).status >= 400)
      clock.advance(3600)
      assert.ok((await proxy()).status >= 400)
    }
    assert.ok(seen.length >= 8)
    const all = `${answers.join('')}${log.join('')}${(await stored(test)).toString('latin1')}`
    for (const secret of [...seen, ...seen.map((one) => one.split('.')[2] ?? ''), ...pieces]) {
      assert.ok(secret.length > 20 && !all.includes(secret))
    }
  })
}
