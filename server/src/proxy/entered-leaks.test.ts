/**
 * The upstream echoes the credential, stored or as a template rendered it, in every form. Whole
 * answers, errors, headers and streams contain none of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adasKey, startEntered } from '../../testkit/entered-credentials.ts'
import { leftOf, secretForms } from '../../testkit/secret-forms.ts'

const password = 'Zq_7Tf~K+4mP/x9LwRb2=VcYh8sNd1GuJe6Ao'
const secrets = {
  key: adasKey,
  password,
  basic: Buffer.from(`ada:${password}`).toString('base64'),
  git: Buffer.from(`x-access-token:${adasKey}`).toString('base64'),
}
type Name = keyof typeof secrets

const methods = [
  {
    kind: 'api_key',
    inject: [
      { in: 'query', name: 'key', template: '{api_key}' },
      { in: 'header', name: 'authorization', template: 'Basic {base64(x-access-token:{api_key})}' },
    ],
  },
  { kind: 'basic' },
]

for (const mode of ['whole', 'streamed'] as const) {
  test(`stored and derived secrets are redacted in every form, ${mode}`, async (t) => {
    const { connect, grantOn, upstream } = await startEntered(t, 'sqlite', {
      methods: () => methods,
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '0' },
      answer: (response, { path }) => {
        const query = new URL(path, 'https://localhost').searchParams
        const form = secretForms.find(({ name }) => name === query.get('form'))
        const shown = form?.encode(secrets[query.get('of') as Name]) ?? Buffer.alloc(0)
        const inHeader = form?.fitsHeader === true && query.get('place') === 'header'
        response.writeHead(Number(query.get('status')), {
          'content-type': 'text/plain; charset=utf-8',
          ...(inHeader && { 'x-debug': shown.toString('latin1') }),
        })
        response.end(inHeader ? 'nothing here' : Buffer.concat([Buffer.from('before '), shown, Buffer.from(' after')]))
      },
    })
    const grants: Record<string, Awaited<ReturnType<typeof grantOn>>> = {}
    for (const [method, credential] of [
      ['api_key', { api_key: adasKey }],
      ['basic', { username: 'ada', password }],
    ] as const) {
      const { body, text } = await connect(credential, { auth_method: method })
      assert.ok(body.connection_id, text)
      grants[method] = await grantOn(body.connection_id)
    }
    let tried = 0
    for (const form of secretForms) {
      for (const [of, secret] of Object.entries(secrets)) {
        const grant = grants[of === 'key' || of === 'git' ? 'api_key' : 'basic']
        // Base64 of base64 is found once more than any API would write it.
        if (of !== 'key' && of !== 'password' && /base64.*in base64/.test(form.name)) continue
        for (const place of form.fitsHeader && of === 'key' ? ['body', 'header'] : ['body']) {
          const query = new URLSearchParams({ form: form.name, of, place, status: tried % 3 === 0 ? '500' : '200' })
          const url = `https://${upstream.host}/reflect?${query.toString()}`
          const answer = await grant?.proxy({ url, stream: mode === 'streamed' })
          const { body, headers, text = '' } = answer ?? {}
          const inner = mode === 'whole' && typeof body.body === 'string' ? body.body : ''
          const bytes = Buffer.from(inner, body?.body_encoding === 'base64' ? 'base64' : 'utf8')
          const all = Buffer.concat([Buffer.from(text), Buffer.from(JSON.stringify(headers)), bytes])
          const left = leftOf(all, form, secret)
          assert.equal(left, undefined, `${of} as ${form.name} in the ${place}: ${text.slice(0, 300)}`)
          assert.match(text, place === 'body' ? /before|REDACTED|base64/ : /nothing here|REDACTED/)
          tried++
        }
      }
    }
    assert.ok(tried > 500)
  })
}
