import type { Http } from './http.ts'

const ignored = ['range', 'if-range', 'if-match', 'if-unmodified-since']

/** Range requests are ignored, as RFC 9110 §14.2 allows: files are small and always sent as a whole. */
export function ignoreRangeHeaders(http: Http): void {
  http.addHook('onRequest', ({ headers }, _reply, done) => {
    for (const name of ignored) if (headers[name] !== undefined) Reflect.deleteProperty(headers, name)
    done()
  })
}
