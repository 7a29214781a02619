/** Google's token endpoint as service accounts see it (RFC 7523), and an API that takes its tokens. */
import { createPublicKey } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import type { Received } from './calling.ts'
import { createTokenIssuer, rsaKey } from './token-issuer.ts'
import type { Reply, TokenIssuer } from './token-issuer.ts'

export interface GoogleTokenServer extends TokenIssuer {
  /** As Google Cloud writes it, with a token endpoint that must not be called. */
  keyFile: Record<string, string>
  /** What a person enters. */
  credential: { key_json: string; scopes: string }
  /** By key id: whose it is, and the key. */
  keys: Map<string, { email: string; pem: string }>
  /** Claims of the valid assertions. */
  claims: Record<string, unknown>[]
  /** Users that service accounts may act for. */
  users: Set<string>
}

export const scope = 'https://www.googleapis.com/auth/drive.readonly'

/** Assertions have to be for the URL that it is reached at. */
export function createGoogleTokenServer(now: () => Date = () => new Date()): GoogleTokenServer {
  const [email, keyId, pem] = ['agents@ada-labs.iam.gserviceaccount.com', '9f86d081884c7d65', rsaKey('google')]
  const keyFile = {
    ...{ type: 'service_account', project_id: 'ada-labs', private_key_id: keyId, private_key: pem },
    ...{ client_email: email, client_id: '103815', auth_uri: 'https://accounts.google.com/o/oauth2/auth' },
    token_uri: 'https://tokens.evil.example/token',
  }
  const keys = new Map([[keyId, { email, pem }]])
  const claims: Record<string, unknown>[] = []
  const users = new Set(['ada@ada-labs.example'])

  const decide = async (request: Received, assertion: string, issue: (prefix: string) => string): Promise<Reply> => {
    const form = new URLSearchParams(request.body)
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      return refuse('unsupported_grant_type')
    const key = keys.get(decodeProtectedHeader(assertion).kid ?? '')
    if (!key) return refuse('invalid_grant', 'Invalid JWT Signature.')
    const seconds = Math.floor(now().getTime() / 1000)
    try {
      const { payload } = await jwtVerify(assertion, createPublicKey(key.pem), {
        ...{
          algorithms: ['RS256'],
          issuer: key.email,
          audience: `https://${request.headers.host ?? ''}${request.path}`,
        },
        ...{ currentDate: now(), requiredClaims: ['iat', 'exp', 'scope'] },
      })
      const { iat = 0, exp = 0, sub } = payload
      if (iat > seconds || exp - iat > 3600) return refuse('invalid_grant', wrongTimes)
      if (sub !== undefined && !users.has(sub)) return refuse('unauthorized_client', 'Client is unauthorized', 401)
      if (payload['scope'] !== scope)
        return refuse('invalid_scope', 'Invalid OAuth scope or ID token audience provided.')
      server.assertions.push(assertion)
      claims.push(payload)
    } catch (error) {
      const isLate = error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED'
      return refuse('invalid_grant', isLate ? wrongTimes : 'Invalid JWT Signature.')
    }
    return {
      status: 200,
      body: { access_token: issue('ya29.c.b0'), expires_in: server.lifetimeSeconds, token_type: 'Bearer' },
    }
  }

  const issuer = createTokenIssuer({
    now,
    assertionOf: ({ method, path, body }) =>
      method === 'POST' && path === '/token' ? (new URLSearchParams(body).get('assertion') ?? '') : undefined,
    decide,
  })
  const credential = { key_json: JSON.stringify(keyFile, null, 2), scopes: scope }
  const server: GoogleTokenServer = Object.assign(issuer, { keyFile, credential, keys, claims, users })
  return server
}

const wrongTimes =
  'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.'

function refuse(error: string, error_description = error, status = 400): Reply {
  return { status, body: { error, error_description } }
}
