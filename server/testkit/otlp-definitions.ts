/** Reads OTLP/JSON by the official definitions (opentelemetry-proto), and refuses what they don't have. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

interface MessageType {
  fromObject: (value: object) => object
  encode: (message: object) => { finish: () => Uint8Array }
  decode: (bytes: Uint8Array) => object
  toObject: (message: object, options: object) => object
}

const types = {
  traces: 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
  metrics: 'opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest',
}

let root: { lookupType: (name: string) => MessageType } | undefined

/**
 * Fails unless everything in it comes through the binary encoding unchanged: a member with another name, type or place than
 * in the definitions would be lost there.
 */
export function assertIsOtlp(kind: keyof typeof types, json: string): void {
  // Loaded when needed: it takes a while.
  root ??= createRequire(import.meta.url)('@elastic/mockotlpserver/lib/proto.js').getProtoRoot() as typeof root
  const type = root?.lookupType(types[kind]) ?? assert.fail('the definitions are not there')
  const sent = inProtobufJson(JSON.parse(json))
  const message = type.decode(type.encode(type.fromObject(sent as object)).finish())
  const read = type.toObject(message, { longs: String, bytes: String })
  assert.deepEqual(JSON.parse(JSON.stringify(read)), sent)
}

/** OTLP has ids in hex where Protobuf's JSON has base64. Empty lists are not encoded at all. */
function inProtobufJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inProtobufJson)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    if (Array.isArray(one) && one.length === 0) return []
    if (!/^(?:traceId|spanId|parentSpanId)$/.test(name)) return [[name, inProtobufJson(one)]]
    assert.match(String(one), /^(?:[0-9a-f]{16}){1,2}$/)
    return [[name, Buffer.from(String(one), 'hex').toString('base64')]]
  })
  return Object.fromEntries(members)
}
