/** A credential that makes a secret for each request, such as a signature: no answer to the call may contain it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { proxyTo, textResponse } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import { Secret } from '../platform/secret.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import type { HeaderList, UpstreamRequest } from './upstream.ts'

const signatureOf = (request: number) => createHash('sha256').update(String(request)).digest('hex')

/** `renew`: the account's token is another one while the call is in flight. */
function signing() {
  let signed = 0
  let forms = compileSecrets([new Secret('stored-secret-of-the-account')])
  return {
    renew: () => (forms = compileSecrets([new Secret('renewed-secret-of-the-account')])),
    credential: () =>
      Promise.resolve({
        apply: async (request: Pick<UpstreamRequest, 'headers'>) => {
          const signature = await Promise.resolve(signatureOf(++signed))
          request.headers = [...request.headers, ['x-signature', signature]]
          return [new Secret(signature)]
        },
        forms,
        newestForms: () => forms,
        wasAwaited: false,
      }),
  }
}

onBothDatabases('a signature that is valid for one request', (engine) => {
  test('is redacted after a redirect too, with the secrets of the account', async (t) => {
    const service = await startService(t, engine)
    const { credential, renew } = signing()
    const seen: string[] = []
    const upstream = (request: UpstreamRequest) => {
      seen.push(request.headers.find(([name]) => name === 'x-signature')?.[1] ?? '')
      const isFirst = seen.length === 1
      const headers: HeaderList = isFirst ? [['location', `?seen=${seen.join()}`]] : [['x-seen', seen.join('; ')]]
      if (!isFirst) renew()
      const body = [...seen, 'renewed-secret-of-the-account', 'an-account'].join(' ')
      return Promise.resolve({ status: isFirst ? 307 : 200, headers, body: ReadableStream.from([Buffer.from(body)]) })
    }
    const proxy = await proxyTo(service, { upstream, credential })
    const answer = await proxy.call({ followRedirects: true })
    assert.deepEqual(seen, [signatureOf(1), signatureOf(2)])
    assert.equal(answer.headers['x-seen'], '[REDACTED]; [REDACTED]')
    assert.equal(answer.body, '[REDACTED] [REDACTED] [REDACTED] an-account')
    assert.equal(answer.redactions, 5)
  })

  test('is redacted as the bytes that its digits stand for, too', async (t) => {
    const service = await startService(t, engine)
    const signature = signatureOf(1)
    const bytes = Buffer.from(signature, 'hex')
    const values = signature.match(/../g) ?? []
    const forms = [
      signature.toUpperCase(),
      values.join(' '),
      values.join(':').toUpperCase(),
      `0x${values.join(', 0x')}`,
      `[${bytes.join(',')}]`,
      bytes.toString('base64'),
      Buffer.concat([Buffer.from('sig='), bytes]).toString('base64url'),
      Buffer.from(signature).toString('hex').replace(/../g, '$& '),
      Buffer.from(signature).toString('base64'),
    ]
    const upstream = () => Promise.resolve(textResponse(forms.join('\n')))
    const proxy = await proxyTo(service, { upstream, credential: signing().credential })
    const { body } = await proxy.call()
    for (const form of forms) assert.ok(!String(body).includes(form.slice(8, -8)), `${form}: ${String(body)}`)
    const [plain = ''] = String(body).split('\n')
    assert.equal(plain, '[REDACTED]')
  })
})
