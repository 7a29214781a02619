import { Echo, echoPath, StartSandboxReply } from '@sallyport/protocol/sandbox'
import { NoBody } from '@sallyport/protocol/schema'
import { actingAgent, onBehalfOf } from '../authenticate.ts'
import type { Config } from '../config/config.ts'
import type { Http } from '../platform/http/http.ts'
import type { HeaderList } from '../proxy/upstream.ts'
import { echo } from './echo.ts'
import { startSandbox } from './start-sandbox.ts'
import type { StartSandboxNeeds } from './start-sandbox.ts'

const tags = ['Sandbox']

type SandboxRoutesNeeds = StartSandboxNeeds & { config: Pick<Config, 'sandboxBodyBytes'> }

export async function sandboxRoutes(http: Http, needs: SandboxRoutesNeeds): Promise<void> {
  const echoUrl = `${needs.config.baseUrl.origin}${echoPath}`

  http.post(
    '/v4/sandbox/start',
    {
      config: { allow: ['agent'], needsDiskSpace: true },
      schema: { tags, summary: 'Start a sandbox', body: NoBody, response: { 201: StartSandboxReply } },
    },
    async (request, reply) => {
      const { agent } = actingAgent(request)
      const { grantId, expiresAt, createdAt } = await startSandbox(onBehalfOf(request, needs), agent, request.id)
      const body = { grant_id: grantId, method: 'GET', url: echoUrl }
      return reply.code(201).send({
        grant_id: grantId,
        echo_url: echoUrl,
        expires_at: (expiresAt ?? createdAt).toISOString(),
        example: { body, curl: proxyCurl(needs.config.baseUrl, body) },
      })
    },
  )

  // In its own scope, because the echo accepts any content type.
  await http.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body)
    })
    scope.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: echoPath,
      config: { allow: 'anyone' },
      bodyLimit: needs.config.sandboxBodyBytes,
      schema: { tags, summary: 'Echo the request', response: { 200: Echo } },
      handler: ({ method, url, raw, body }) =>
        echo({
          method,
          url: new URL(url, needs.config.baseUrl),
          headers: shownHeaders(raw.rawHeaders),
          body: Buffer.isBuffer(body) ? body : undefined,
        }),
    })
  })
}

/** When called directly, the echo must not reveal credentials or the proxies in front of the service. */
const neverShown = /^(?:cookie2?|authorization|proxy-.*|forwarded|x-forwarded-.*|x-real-ip|via)$/

function shownHeaders(raw: string[]): HeaderList {
  const headers: HeaderList = []
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    if (!neverShown.test(name)) headers.push([name, raw[index + 1] ?? ''])
  }
  return headers
}

function proxyCurl(baseUrl: URL, body: object): string {
  return [
    `curl -s ${baseUrl.origin}/v4/proxy`,
    `-H "authorization: Bearer $SALLYPORT_AGENT_TOKEN"`,
    `-H 'content-type: application/json'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' ')
}
