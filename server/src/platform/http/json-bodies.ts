import { isUtf8 } from 'node:buffer'
import type { ContentTypeParserDoneFunction } from 'fastify/types/content-type-parser.js'
import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../errors.ts'
import { isJsonText, isTooDeep, maxJsonDepth } from '../json.ts'
import { nextSlice } from '../event-loop/time-slices.ts'
import type { Http } from './http.ts'

const scannedFromBytes = 4096
/** Longer bodies take a millisecond or more to parse, so they wait for a slice (time-slices.ts). */
const longBytes = 32_768

/**
 * Parses bodies as JSON in UTF-8. An empty or missing body counts as an empty object. `judge` can refuse a body by throwing,
 * before it is parsed.
 */
export function readJsonBodies(http: Http, judge?: (text: string) => void): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(http, judge))
  http.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.schema?.body) request.body = {}
    done()
  })
}

type JsonParser = (request: FastifyRequest, body: Buffer, done: ContentTypeParserDoneFunction) => void

export function jsonParser(http: Http, judge?: (text: string) => void): JsonParser {
  const parse = http.getDefaultJsonParser('error', 'error')
  return (request, body, done) => {
    if (body.length === 0) {
      done(null, undefined)
      return
    }
    const inTurn = (work: () => void) => {
      if (body.length > longBytes) void nextSlice().then(work)
      else work()
    }
    inTurn(() => {
      const text = checkedText(body, judge)
      if (text instanceof Error) {
        done(text)
        return
      }
      inTurn(() => {
        // The parser refuses __proto__ and constructor.prototype as member names.
        void parse(request, text, (error, value) => {
          if (error) done(new ServiceError('invalid_json', { message: reason(text), cause: error }))
          else done(null, value)
        })
      })
    })
  }
}

/** Returns an error if the body is not JSON, is nested too deeply, or is refused by `judge`. */
function checkedText(body: Buffer, judge: ((text: string) => void) | undefined): string | Error {
  const bytes = withoutMark(body)
  const text = isUtf8(bytes) ? bytes.toString() : undefined
  // For large bodies the WebAssembly scanner takes a fraction of the time.
  if (text === undefined || (bytes.length < scannedFromBytes ? isTooDeep(text) : !isJsonText(bytes))) {
    return new ServiceError('invalid_json', { message: reason(text) })
  }
  try {
    judge?.(text)
    return text
  } catch (error) {
    return error as Error
  }
}

const byteOrderMark = Buffer.from('\ufeff')

function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, 3).equals(byteOrderMark) ? body.subarray(3) : body
}

/** Why a body was refused. */
function reason(text: string | undefined): string {
  if (text !== undefined && isTooDeep(text)) return `The body is nested deeper than ${maxJsonDepth} levels.`
  return text !== undefined && isJson(text)
    ? 'The body contains a member named __proto__ or constructor.prototype, which is not allowed.'
    : 'The request body is not valid UTF-8 JSON.'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
