/**
 * WebSocket messages on the wire (RFC 6455 §5), without extensions. A reader takes bytes as they arrive, checks every rule
 * about frames, and joins the fragments of a message, in bounded memory.
 */
import { isUtf8 } from 'node:buffer'
import { createHash, randomFillSync } from 'node:crypto'

export type MessageKind = 'text' | 'binary' | 'close' | 'ping' | 'pong'

export interface Message {
  kind: MessageKind
  data: Buffer
}

/** The peer broke a rule. `code` is for the close frame. */
export class BrokenRule extends Error {
  readonly code: 1002 | 1007 | 1009

  constructor(code: BrokenRule['code'], message: string) {
    super(message)
    this.name = 'BrokenRule'
    this.code = code
  }
}

export interface ReaderOptions {
  /** Clients mask what they send, servers never do (§5.1). */
  isFromClient: boolean
  maxMessageBytes: number
  /** Called with the bytes that the message in progress takes up. Returns false if there is no memory left for it. */
  takeRoom?: (bytes: number) => boolean
}

const opcodes: Record<MessageKind, number> = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 }
const kinds = new Map(Object.entries(opcodes).map(([kind, opcode]) => [opcode, kind as MessageKind]))
const continuation = 0
export const maxControlBytes = 125

interface Frame {
  /** Undefined: it continues a message. */
  kind: MessageKind | undefined
  isFinal: boolean
  mask: Buffer | undefined
  bytes: number
  read: number
}

export type MessageReader = (chunk: Uint8Array) => Generator<Message>

/** Read each chunk to its end before the next. */
export function createMessageReader({ isFromClient, maxMessageBytes, takeRoom }: ReaderOptions): MessageReader {
  const head = Buffer.alloc(14)
  let headBytes = 0
  let frame: Frame | undefined
  /** Of the data message in progress, whose fragments control frames may interrupt (§5.4). */
  let kind: MessageKind | undefined
  const data = createGrowing(takeRoom)
  const control = createGrowing()

  const startFrame = (): Frame | undefined => {
    const lengthBytes = [2, 8][(at(head, 1) & 127) - 126] ?? 0
    const maskAt = 2 + lengthBytes
    if (headBytes === 2) checkStart()
    if (headBytes < maskAt + (isFromClient ? 4 : 0)) return undefined
    const bytes = payloadBytes(head, lengthBytes)
    const opcode = at(head, 0) & 15
    if (bytes > maxMessageBytes - (opcode === continuation ? data.length() : 0)) throw tooLong(maxMessageBytes)
    const mask = isFromClient ? Buffer.from(head.subarray(maskAt, maskAt + 4)) : undefined
    headBytes = 0
    const started = { kind: kinds.get(opcode), isFinal: at(head, 0) > 127, mask, bytes, read: 0 }
    if (!isControl(started.kind)) kind ??= started.kind
    return started
  }
  /** What its first two bytes say. */
  const checkStart = () => {
    const [first, second] = [at(head, 0), at(head, 1)]
    const opcode = first & 15
    if ((first & 0x70) !== 0) throw new BrokenRule(1002, 'A reserved bit is set.')
    if (second > 127 !== isFromClient) {
      throw new BrokenRule(1002, isFromClient ? 'A frame is not masked.' : 'A frame of a server is masked.')
    }
    const starts = kinds.get(opcode)
    if (opcode !== continuation && !starts) throw new BrokenRule(1002, 'A frame has an unknown opcode.')
    if (isControl(starts)) {
      if ((second & 127) > maxControlBytes) throw new BrokenRule(1002, 'A control frame is too long.')
      if (first < 128) throw new BrokenRule(1002, 'A control frame is fragmented.')
    } else if ((opcode === continuation) !== (kind !== undefined)) {
      throw new BrokenRule(1002, 'A frame continues no message, or a message begins within another.')
    }
  }
  const end = (ended: Frame): Message | undefined => {
    if (isControl(ended.kind)) return checked({ kind: ended.kind, data: control.take() })
    if (!ended.isFinal || kind === undefined) return undefined
    const message = { kind, data: data.take() }
    kind = undefined
    return checked(message)
  }

  return function* (chunk) {
    let from = 0
    while (from < chunk.length || frame) {
      if (!frame) {
        head[headBytes++] = at(chunk, from++)
        if (headBytes >= 2) frame = startFrame()
        continue
      }
      const to = Math.min(chunk.length, from + frame.bytes - frame.read)
      const into = isControl(frame.kind) ? control : data
      into.add(chunk.subarray(from, to), frame.mask, frame.read)
      frame.read += to - from
      from = to
      if (frame.read < frame.bytes) return
      const ended = frame
      frame = undefined
      const message = end(ended)
      if (message) yield message
    }
  }
}

/** A whole message in one frame. A client masks it (§5.3). */
export function frameOf({ kind, data }: Message, { isFromClient }: Pick<ReaderOptions, 'isFromClient'>): Buffer {
  const lengthBytes = data.length <= 125 ? 0 : data.length <= 0xffff ? 2 : 8
  const maskAt = 2 + lengthBytes
  const dataAt = maskAt + (isFromClient ? 4 : 0)
  const frame = Buffer.allocUnsafe(dataAt + data.length)
  frame[0] = 128 | opcodes[kind]
  frame[1] = (isFromClient ? 128 : 0) | (lengthBytes === 0 ? data.length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) frame.writeUInt16BE(data.length, 2)
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(data.length), 2)
  if (isFromClient) randomFillSync(frame, maskAt, 4)
  data.copy(frame, dataAt)
  if (isFromClient) unmask(frame.subarray(dataAt), frame.subarray(maskAt, dataAt), 0)
  return frame
}

export function closeMessage(code: number, reason: string): Message {
  const data = Buffer.alloc(2 + Buffer.byteLength(reason))
  data.writeUInt16BE(code)
  data.write(reason, 2)
  // A character that is cut in two would be invalid.
  const longest = data.length > maxControlBytes ? Buffer.from(data.subarray(0, maxControlBytes)) : data
  return { kind: 'close', data: isUtf8(longest.subarray(2)) ? longest : longest.subarray(0, 2) }
}

/** What a server answers a client's `Sec-WebSocket-Key` with (§4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

function isControl(kind: MessageKind | undefined): kind is 'close' | 'ping' | 'pong' {
  return kind !== undefined && opcodes[kind] > 7
}

function payloadBytes(head: Buffer, lengthBytes: number): number {
  if (lengthBytes === 0) return at(head, 1) & 127
  const bytes = lengthBytes === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2))
  // §5.2: the shortest form of a length is the only one.
  if (bytes < (lengthBytes === 2 ? 126 : 0x1_0000)) throw new BrokenRule(1002, 'A length is not in its shortest form.')
  return bytes
}

function checked(message: Message): Message {
  const { kind, data } = message
  if (kind === 'text' && !isUtf8(data)) throw new BrokenRule(1007, 'A text is not UTF-8.')
  if (kind !== 'close' || data.length === 0) return message
  if (data.length === 1 || !isCloseCode(data.readUInt16BE(0))) throw new BrokenRule(1002, 'A close code is invalid.')
  if (!isUtf8(data.subarray(2))) throw new BrokenRule(1007, 'The reason of a close is not UTF-8.')
  return message
}

/** §7.4. Others are never sent. */
function isCloseCode(code: number): boolean {
  const isRegistered = code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)
  return isRegistered || (code >= 3000 && code <= 4999)
}

function tooLong(maxBytes: number): BrokenRule {
  return new BrokenRule(1009, `A message is longer than ${maxBytes} bytes.`)
}

function unmask(bytes: Buffer, mask: Buffer, from: number): void {
  for (let index = 0; index < bytes.length; index++) bytes[index] = at(bytes, index) ^ at(mask, (from + index) & 3)
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

/** Its memory follows what has arrived, not what is announced: many small pieces take no more than one. */
function createGrowing(takeRoom: (bytes: number) => boolean = () => true) {
  let buffer = Buffer.alloc(0)
  let length = 0
  return {
    length: () => length,
    add: (bytes: Uint8Array, mask: Buffer | undefined, maskFrom: number) => {
      if (length + bytes.length > buffer.length) {
        const room = Math.max(length + bytes.length, 2 * buffer.length)
        if (!takeRoom(room)) throw new BrokenRule(1009, 'There is no memory left for a message.')
        const larger = Buffer.allocUnsafeSlow(room)
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      buffer.set(bytes, length)
      const end = length + bytes.length
      if (mask) unmask(buffer.subarray(length, end), mask, maskFrom)
      length = end
    },
    take: (): Buffer => {
      const taken = buffer.subarray(0, length)
      buffer = Buffer.alloc(0)
      length = 0
      takeRoom(0)
      return taken
    },
  }
}
