import type { Http } from './http.ts'

const ignored = ['range', 'if-range', 'if-match', 'if-unmodified-since']

/** Our files are small and always sent whole; what asks for a part, or for one version, is passed over (RFC 9110 §14.2). */
export function ignoreRangeHeaders(http: Http): void {
  http.addHook('onRequest', ({ headers }, _reply, done) => {
    for (const name of ignored) if (headers[name] !== undefined) Reflect.deleteProperty(headers, name)
    done()
  })
}
