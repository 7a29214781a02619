import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Bodies are JSON in UTF-8. An empty one counts as none, and none as an object without members. */
export function readJsonBodies(http: Http): void {
  const parse = http.getDefaultJsonParser('error', 'error')
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) {
      done(null, undefined)
      return
    }
    const refuse = (cause: unknown) => {
      done(new ServiceError('invalid_json', { message: reason(cause), cause }))
    }
    try {
      // The parser refuses __proto__ and constructor.prototype as member names.
      void parse(request, utf8.decode(body), (error, value) => {
        if (error) refuse(error)
        else done(null, value)
      })
    } catch (error) {
      refuse(error)
    }
  })
  http.addHook('preValidation', async (request) => {
    if (request.body === undefined && request.routeOptions.schema?.body) request.body = {}
  })
}

function reason(cause: unknown): string {
  const isPoisoned = cause instanceof Error && /prototype property/.test(cause.message)
  return isPoisoned
    ? 'The body holds a member named __proto__ or constructor.prototype, which is never taken.'
    : 'The body is not valid JSON in UTF-8.'
}
