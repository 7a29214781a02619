/** Firebase as a server sees it: a token endpoint for service accounts, and the messages of one project. */
import { createPublicKey, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Clock } from '../src/platform/clock.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { sharedAuthority } from './certificates.ts'
import { temporaryFolder } from './databases.ts'
import { keptKey } from './kept-keys.ts'
import { readJwt } from './signed-jwt.ts'
import { startTlsUpstream } from './tls-upstream.ts'

export interface FcmMessage {
  token: string
  notification: { title: string; body: string }
  data: Record<string, string>
  android: Record<string, string>
}

export interface FcmServer {
  host: string
  caFile: string
  caPem: string
  settings: Environment
  received: FcmMessage[]
  /** Responses for the next messages, in this order; then success. */
  answers: { status: number; body: object; headers?: Record<string, string> }[]
  /** Responses for the next token requests. */
  tokenAnswers: { status: number; body: object }[]
  tokensIssued: () => number
  /** Invalidates all access tokens, as a change of the service account by an administrator does. */
  endTokens: () => void
}

const project = 'a-project'
const clientEmail = 'push@a-project.iam.gserviceaccount.com'

export async function startFcmServer(t: Pick<TestContext, 'after'>, clock: Clock): Promise<FcmServer> {
  const privateKey = keptKey('fcm-account')
  const publicKey = createPublicKey(privateKey)
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })
  const received: FcmMessage[] = []
  const answers: FcmServer['answers'] = []
  const tokenAnswers: FcmServer['tokenAnswers'] = []
  const live = new Set<string>()
  let issued = 0
  let tokenUri = ''

  const issueToken = (form: URLSearchParams): [number, object] => {
    const jwt = readJwt(form.get('assertion') ?? '', publicKey)
    const { iss, aud, scope, iat, exp } = jwt?.claims ?? {}
    const now = clock().getTime() / 1000
    const isTimely = Number(iat) <= now && Number(exp) > now && Number(exp) - Number(iat) <= 3600
    const isOurs = jwt?.header['alg'] === 'RS256' && jwt.header['kid'] === 'key-1' && iss === clientEmail
    const isAsked = aud === tokenUri && scope === 'https://www.googleapis.com/auth/firebase.messaging'
    const isGrant = form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    if (!isOurs || !isAsked || !isTimely || !isGrant) return [400, { error: 'invalid_grant' }]
    const token = `ya29.${randomBytes(24).toString('base64url')}`
    live.add(token)
    issued++
    return [200, { access_token: token, expires_in: 3599, token_type: 'Bearer' }]
  }

  const serve: RequestListener = (request, response) => {
    const reply = (status: number, body: object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
    const answer = (body: string) => {
      if (request.url === '/token') {
        const planned = tokenAnswers.shift()
        reply(...(planned ? ([planned.status, planned.body] as const) : issueToken(new URLSearchParams(body))))
      } else if (request.url !== `/v1/projects/${project}/messages:send`) {
        reply(404, { error: { code: 404, status: 'NOT_FOUND', message: 'Requested entity was not found.' } })
      } else if (!live.has((request.headers.authorization ?? '').replace('Bearer ', ''))) {
        reply(401, { error: { code: 401, status: 'UNAUTHENTICATED' } })
      } else {
        received.push((JSON.parse(body) as { message: FcmMessage }).message)
        const planned = answers.shift()
        if (planned) reply(planned.status, planned.body, planned.headers)
        else reply(200, { name: `projects/${project}/messages/1` })
      }
    }
    text(request).then(answer, () => undefined)
  }

  const { port } = await startTlsUpstream(t, certificate, serve)
  const host = `localhost:${port}`
  tokenUri = `https://${host}/token`
  const credentials = join(temporaryFolder(t), 'service-account.json')
  const account = {
    type: 'service_account',
    project_id: project,
    private_key_id: 'key-1',
    private_key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    client_email: clientEmail,
    token_uri: tokenUri,
  }
  writeFileSync(credentials, JSON.stringify(account))
  const settings = { SALLYPORT_FCM_CREDENTIALS_FILE: credentials, SALLYPORT_FCM_URL: `https://${host}` }
  return {
    host,
    caFile: authority.caFile,
    caPem: authority.caPem,
    settings,
    received,
    answers,
    tokenAnswers,
    tokensIssued: () => issued,
    endTokens: () => {
      live.clear()
    },
  }
}
