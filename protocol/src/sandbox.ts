import { Type, type Static } from 'typebox'
import { Dictionary, RecordId, Timestamp } from './schema.ts'

export const echoPath = '/v4/sandbox/echo'

export const StartSandboxReply = Type.Object({
  grant_id: RecordId('grt'),
  echo_url: Type.String(),
  expires_at: Timestamp,
  example: Type.Object({
    body: Type.Object({ grant_id: Type.String(), method: Type.String(), url: Type.String() }),
    curl: Type.String({
      description: 'The same call as a shell command; it reads the agent token from SALLYPORT_AGENT_TOKEN',
    }),
  }),
})
export type StartSandboxReply = Static<typeof StartSandboxReply>

export const Echo = Type.Object({
  method: Type.String(),
  path: Type.String(),
  query: Dictionary(Type.Union([Type.String(), Type.Array(Type.String())])),
  headers: Dictionary(Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.Unknown({ description: 'Parsed if it is JSON, otherwise text' }),
})
export type Echo = Static<typeof Echo>
