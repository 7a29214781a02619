/**
 * Passes messages between the client and the server of a WebSocket, each once it is complete. A side is read only while the
 * other takes what was read. It ends with the first close, broken rule, lost connection or long silence, for both sides.
 */
import type { Duplex, Readable } from 'node:stream'
import { BrokenRule, closeMessage, createMessageReader, frameOf } from '@sallyport/protocol/websocket-messages'
import type { Message, MessageReader } from '@sallyport/protocol/websocket-messages'

export interface RelayNeeds {
  client: Duplex
  server: Duplex
  /** For what the server sends. */
  change: (message: Message) => Message | Promise<Message>
  /** Returns false if there is no memory left for messages in progress. */
  takeRoom: (bytes: number) => boolean
  idleMs: number
  /** Ends it. */
  signal: AbortSignal
  /** What the client is told when the signal has ended it. */
  reasonOf: (reason: unknown) => CloseReason
}

export interface CloseReason {
  code: number
  sentence: string
}

export type RelayEnd =
  | { kind: 'closed' }
  | { kind: 'aborted' }
  | { kind: 'idle' }
  | { kind: 'lost'; by: SideName }
  | { kind: 'broke_rule'; by: SideName; rule: BrokenRule }

type SideName = 'client' | 'server'

interface Side {
  name: SideName
  socket: Duplex
  read: MessageReader
  /** Resolves once more may be sent. */
  send: (message: Message) => Promise<void>
  isClosed: boolean
}

export const maxMessageBytes = 1_048_576
/** How long the other side may take to answer a close. */
const answerMs = 10_000
/** How long a side that has been told of the end may take to close its connection. */
const lingerMs = 1000

/** Both sockets are closed soon after it has resolved. */
export async function relay(needs: RelayNeeds): Promise<RelayEnd> {
  const { signal, reasonOf } = needs
  const room = shareRoom(needs.takeRoom)
  const client = sideOf('client', needs.client, room('client'))
  const server = sideOf('server', needs.server, room('server'))
  const aborted = Promise.withResolvers<RelayEnd>()
  const onAbort = () => {
    aborted.resolve({ kind: 'aborted' })
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)
  const silence = watchSilence(needs)
  const pumps = [
    pump(client, server, (message) => message, silence.end),
    pump(server, client, needs.change, silence.end),
  ]
  try {
    let end = await Promise.race([...pumps, silence.reached, aborted.promise])
    // The other side answers a close with a close, after what it is sending.
    if (end.kind === 'closed') {
      await Promise.race([Promise.all(pumps), silence.reached, aborted.promise, after(answerMs)])
      if (signal.aborted) end = { kind: 'aborted' }
    }
    for (const side of [client, server]) {
      const patienceMs = end.kind === 'aborted' ? lingerMs : needs.idleMs
      farewell(
        side,
        closeFor(side.name, end, () => reasonOf(signal.reason)),
        patienceMs,
      )
    }
    return end
  } catch (error) {
    for (const { socket } of [client, server]) socket.destroy()
    throw error
  } finally {
    silence.stop()
    signal.removeEventListener('abort', onAbort)
  }
}

function sideOf(name: SideName, socket: Duplex, takeRoom: RelayNeeds['takeRoom']): Side {
  socket.on('error', () => undefined)
  const side: Side = {
    ...{ name, socket, isClosed: false },
    read: createMessageReader({ isFromClient: name === 'client', maxMessageBytes, takeRoom }),
    send: async (message) => {
      if (side.isClosed || socket.destroyed) return
      side.isClosed = message.kind === 'close'
      if (!socket.write(frameOf(message, { isFromClient: name === 'server' }))) await drained(socket)
    },
  }
  return side
}

async function pump(from: Side, to: Side, change: RelayNeeds['change'], endSilence: () => void): Promise<RelayEnd> {
  const { name: by } = from
  try {
    // Leaving the loop must not destroy the socket: it still has to be told why.
    const chunks = (from.socket as Readable).iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    for await (const chunk of chunks) {
      endSilence()
      for (const message of from.read(chunk)) {
        await to.send(await change(message))
        if (message.kind === 'close') return { kind: 'closed' }
      }
    }
  } catch (error) {
    if (error instanceof BrokenRule) return { kind: 'broke_rule', by, rule: error }
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
  return { kind: 'lost', by }
}

/** A side that takes nothing for too long is noticed by `watchSilence`. */
function drained(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.on('drain', done).on('close', done)
  })
}

/** Pings count as well as messages. A side that takes nothing counts as silent, even while the other sends. */
function watchSilence({ client, server, idleMs }: RelayNeeds) {
  const { promise: reached, resolve } = Promise.withResolvers<RelayEnd>()
  let lastAt = performance.now()
  const blockedSince = new Map<Duplex, number>()
  const look = () => {
    const now = performance.now()
    for (const socket of [client, server]) {
      if (!socket.writableNeedDrain) blockedSince.delete(socket)
      else if (!blockedSince.has(socket)) blockedSince.set(socket, now)
    }
    if (now - Math.min(lastAt, ...blockedSince.values()) >= idleMs) resolve({ kind: 'idle' })
  }
  const timer = setInterval(look, Math.min(idleMs / 4, 1000)).unref()
  return {
    reached,
    end: () => {
      lastAt = performance.now()
    },
    stop: () => {
      clearInterval(timer)
    },
  }
}

function closeFor(side: SideName, end: RelayEnd, aborted: () => CloseReason): CloseReason | undefined {
  const away = (sentence: string): CloseReason => ({ code: 1001, sentence })
  const badGateway = (sentence: string): CloseReason => ({ code: 1014, sentence })
  if (end.kind === 'closed') return undefined
  if (end.kind === 'aborted') return side === 'client' ? aborted() : away('')
  if (end.kind === 'idle') return away('Nothing was sent for too long.')
  if (end.by === side) return end.kind === 'lost' ? undefined : { code: end.rule.code, sentence: end.rule.message }
  if (end.kind === 'broke_rule' && end.rule.code === 1009) return { code: 1009, sentence: end.rule.message }
  if (side === 'server') return away('The client is gone.')
  return badGateway(
    end.kind === 'lost'
      ? 'The API closed the connection.'
      : `The API broke a rule of the protocol. ${end.rule.message}`,
  )
}

/** Sends what is buffered, and the reason. Of a call that was ended, a side gets nothing that is still buffered. */
function farewell(side: Side, reason: CloseReason | undefined, patienceMs: number): void {
  const { socket } = side
  if (patienceMs === lingerMs && socket.writableLength > 0) {
    socket.destroy()
    return
  }
  if (reason) void side.send(closeMessage(reason.code, reason.sentence))
  const destroyAfter = (ms: number) =>
    setTimeout(() => {
      socket.destroy()
    }, ms)
  let timer = destroyAfter(patienceMs)
  socket.end(() => {
    clearTimeout(timer)
    if (!socket.destroyed) timer = destroyAfter(lingerMs)
  })
  socket.resume()
  socket.once('close', () => {
    clearTimeout(timer)
  })
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}

/** Both sides take from the same. */
function shareRoom(takeRoom: RelayNeeds['takeRoom']): (name: SideName) => RelayNeeds['takeRoom'] {
  const taken = { client: 0, server: 0 }
  return (name) => (bytes) => {
    const { [name]: former } = taken
    taken[name] = bytes
    if (takeRoom(taken.client + taken.server)) return true
    taken[name] = former
    return false
  }
}
