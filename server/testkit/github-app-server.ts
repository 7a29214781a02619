/** GitHub as its Apps see it: assertions of an app (JWT, RS256), tokens of its installations, and an API that takes them. */
import { createPublicKey } from 'node:crypto'
import { jwtVerify } from 'jose'
import type { Received } from './calling.ts'
import { createTokenIssuer, rsaKey } from './token-issuer.ts'
import type { Reply, TokenIssuer } from './token-issuer.ts'

export interface GitHubAppServer extends TokenIssuer {
  /** What a person enters. */
  credential: { app_id: string; installation_id: string; private_key: string }
  /** The bodies of the requests for tokens. */
  wanted: unknown[]
  /** By installation id: where it is installed. A test may add one, or change it. */
  installations: Map<string, { appId: string; account: { id: number; login: string }; permissions: object }>
  /** By app id: the key that its assertions are signed with. */
  keys: Map<string, string>
}

const path = /^\/api\/v3\/app\/installations\/(\d+)(\/access_tokens)?$/

export function createGitHubAppServer(now: () => Date = () => new Date()): GitHubAppServer {
  const credential = { app_id: '3915', installation_id: '48150623', private_key: rsaKey('github') }
  const keys = new Map([[credential.app_id, credential.private_key]])
  const installations: GitHubAppServer['installations'] = new Map([
    [
      credential.installation_id,
      {
        ...{ appId: credential.app_id, account: { id: 1815, login: 'ada-labs' } },
        permissions: { contents: 'write', issues: 'write', metadata: 'read' },
      },
    ],
  ])
  const wanted: unknown[] = []

  /** The app's id. Otherwise why it is refused, as GitHub says it. */
  const verify = async (assertion: string): Promise<{ appId: string } | { refused: string }> => {
    for (const [appId, pem] of keys) {
      const seconds = Math.floor(now().getTime() / 1000)
      try {
        const { payload } = await jwtVerify(assertion, createPublicKey(pem), {
          ...{ algorithms: ['RS256'], issuer: appId, currentDate: now(), requiredClaims: ['iat', 'exp'] },
        })
        if ((payload.exp ?? 0) - seconds > 600) return { refused: claim('Expiration time', 'exp', 'is too far ahead') }
        if ((payload.iat ?? 0) > seconds) return { refused: claim('Issued at', 'iat', 'must be in the past') }
        return { appId }
      } catch (error) {
        if (isCode(error, 'ERR_JWT_EXPIRED'))
          return { refused: claim('Expiration time', 'exp', 'must be in the future') }
      }
    }
    return { refused: 'A JSON web token could not be decoded' }
  }

  const decide = async (request: Received, assertion: string, issue: (prefix: string) => string): Promise<Reply> => {
    const verdict = await verify(assertion)
    if ('refused' in verdict) return { status: 401, body: { message: verdict.refused } }
    server.assertions.push(assertion)
    const [, id = '', forToken] = path.exec(request.path) ?? []
    const installation = installations.get(id)
    if (installation?.appId !== verdict.appId) return { status: 404, body: { message: 'Not Found' } }
    const { account, permissions } = installation
    if (forToken === undefined) {
      return { status: 200, body: { id: Number(id), account, app_id: Number(verdict.appId), app_slug: 'agents' } }
    }
    const asked = JSON.parse(request.body) as { permissions?: object }
    wanted.push(asked)
    if (Object.keys(asked.permissions ?? {}).some((name) => !(name in permissions))) {
      return { status: 422, body: { message: 'The permissions requested are not granted to this installation.' } }
    }
    const expires_at = new Date(now().getTime() + server.lifetimeSeconds * 1000).toISOString().replace(/\.\d+/, '')
    return { status: 201, body: { token: issue('ghs_'), expires_at, permissions: asked.permissions ?? permissions } }
  }

  const issuer = createTokenIssuer({
    now,
    assertionOf: (request) =>
      path.test(request.path) ? (request.headers.authorization ?? '').replace('Bearer ', '') : undefined,
    decide,
  })
  const server: GitHubAppServer = Object.assign(issuer, { credential, wanted, installations, keys })
  return server
}

function claim(name: string, short: string, wrong: string): string {
  return `'${name}' claim ('${short}') ${wrong}`
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
