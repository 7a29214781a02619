/** A credential that makes a secret for each request, such as a signature: no answer to the call may contain it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { proxyTo } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import { Secret } from '../platform/secret.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import type { HeaderList, UpstreamRequest } from './upstream.ts'

/** `newest` is what the account's token has become while the call was in flight. */
function signing() {
  let signed = 0
  let forms = compileSecrets([new Secret('stored-secret-of-the-account')])
  return {
    renew: () => (forms = compileSecrets([new Secret('renewed-secret-of-the-account')])),
    credential: () =>
      Promise.resolve({
        apply: async (request: Pick<UpstreamRequest, 'headers'>) => {
          const signature = await Promise.resolve(`signature-of-request-${String(++signed)}`)
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
    assert.deepEqual(seen, ['signature-of-request-1', 'signature-of-request-2'])
    assert.equal(answer.headers['x-seen'], '[REDACTED]; [REDACTED]')
    assert.equal(answer.body, '[REDACTED] [REDACTED] [REDACTED] an-account')
    assert.equal(answer.redactions, 5)
  })
})
