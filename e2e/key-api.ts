/** An API that takes keys, and the part of GitHub that issues tokens to an App. */
import { buffer } from 'node:stream/consumers'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { createGitHubAppServer } from '../server/testkit/github-app-server.ts'
import type { GitHubAppServer } from '../server/testkit/github-app-server.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'

export const adasKey = 'sk_live_Ada4Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl'
export const adasNewKey = 'sk_live_AdaNewQWxsIG5ldywgYWxsIHRoZSBz'
export const gracesKey = 'sk_live_Grace0dGhpcyBpcyBhbm90aGVyIGtl'

export interface KeyApi {
  host: string
  caFile: string
  /** The keys that it accepts, and whose they are. A test may change them. */
  accounts: Map<string, string>
  github: GitHubAppServer
  /** A method of a provider: one key in a header, and a check that names the account. */
  checked: (help: string) => object
  /** Issues tokens to the App. */
  app: object
}

export async function startKeyApi(scope: Parameters<typeof startTlsUpstream>[0]): Promise<KeyApi> {
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const accounts = new Map([
    [adasKey, 'ada'],
    [adasNewKey, 'ada'],
    [gracesKey, 'grace'],
  ])
  const github = createGitHubAppServer()
  const { port } = await startTlsUpstream(scope, certificate, (request, response) => {
    const { method = '', url: path = '', headers } = request
    if (path.startsWith('/api/v3/')) {
      void buffer(request).then((body) => {
        github.answer(response, { method, path, headers, body: body.toString() })
      })
      return
    }
    const login = accounts.get(String(headers['x-api-key']))
    response.writeHead(login === undefined ? 401 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(login === undefined ? {} : { id: `id-of-${login}`, login }))
  })
  const host = `localhost:${port}`
  return {
    ...{ host, caFile: authority.caFile, accounts, github },
    checked: (help) => ({
      ...{ kind: 'api_key', help },
      inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }],
      check: { url: `https://${host}/me`, account: { id: 'id', labels: ['login'] } },
    }),
    app: { kind: 'github_app', api_url: `https://${host}/api/v3` },
  }
}
