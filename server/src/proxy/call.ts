import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { CallDoor } from '@sallyport/protocol/audit'
import type { AwsScope } from '@sallyport/protocol/proxy'
import type { Standing } from '../grants/standing.ts'
import type { Destination } from './destination.ts'
import type { Verdict } from './policy.ts'
import type { Upload } from './upload.ts'
import type { HeaderList, Route } from './upstream.ts'

export type ToolDoor = Exclude<CallDoor, 'proxy'>

/** What an agent asks for. */
export interface ProxyInput {
  /** By which door a tool called, as if it called the API itself. Undefined: the agent called `POST /v4/proxy`. */
  door?: ToolDoor
  grantId: string
  method: string
  url: string
  headers: Record<string, string>
  body: unknown
  bodyBase64: string | undefined
  /** Instead of both. */
  upload?: Upload | undefined
  timeoutMs: number | undefined
  followRedirects: boolean
  stream: boolean
  /** It opens a WebSocket. */
  isHandshake?: boolean | undefined
  aws?: AwsScope | undefined
  /** Why the call is made, in the agent's words. */
  reason?: string | undefined
}

/** What is recorded of a call's destination: never values of the query, headers or the body. */
export type Facts = {
  method: string
  host: string
  path: string
  query: string[]
  door?: ToolDoor
  /** Of a call that was held. */
  call_id?: string
  /** Of the approval that allowed it again. */
  repeat_id?: string
}

/** What was known of a call before it was refused. */
export interface Known {
  standing?: Standing
  facts?: Partial<Facts>
  droppedHeaders?: string[]
  verdict?: Verdict | undefined
}

/** A call that may be made. */
export interface Call {
  agentId: string
  /** It goes where anyone may read, without a credential. */
  isOpen: boolean
  /** Hash of the token that the call came with. */
  tokenHash: Buffer
  /** Of the key for tools that the call came with, if it did. */
  keyHash?: Buffer | undefined
  standing: Standing
  route: Route
  auditId: string
  requestId: string
  method: string
  destination: Destination
  headers: HeaderList
  droppedHeaders: string[]
  body: Buffer | undefined
  /** A body that is passed on as it arrives. It can be sent once. */
  upload?: Upload | undefined
  /** What the caller wants an AWS request signed for. */
  aws?: AwsScope | undefined
  facts: Facts
  /** Undefined if no term of the grant depends on it. */
  access: AccessClass | undefined
  /** The term of the grant by which a person has to approve the call first. Undefined: none has to. */
  asks: string | undefined
  followsRedirects: boolean
  isStreamed: boolean
  isHandshake: boolean
  /** Until the headers of the answer, and until its last byte. */
  firstByteMs: number
  timeoutMs: number
  /** Between two pieces of a streamed answer. */
  idleMs: number
}
