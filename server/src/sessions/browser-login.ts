/**
 * Sign-in through a login provider: the browser goes to the provider and returns with an authorization code. The code
 * is accepted once, within ten minutes, with the state of this flow, and only from the browser that has the pre-login
 * cookie. The provider's tokens are used to identify the user and then discarded.
 */
import type { Clock } from '../platform/clock.ts'
import { addressBlock } from '../platform/limits/client-address.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { perMinute, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { Secret } from '../platform/secret.ts'
import { hashToken, isWellFormedToken, mintToken } from '../platform/tokens.ts'
import { admitPerson, ConcurrentLogin } from './admit-person.ts'
import type { AdmitPersonNeeds } from './admit-person.ts'
import { withLoginErrors, LoginFailed, withRedirectAfter } from './login-failure.ts'
import type { LoginFlow, LoginFlowStore } from './login-flow-store.ts'
import type { LoginProvider, LoginProviderId } from './login-provider.ts'
import { startSession } from './start-session.ts'
import type { StartSessionNeeds } from './start-session.ts'

export interface BrowserLoginNeeds extends AdmitPersonNeeds, StartSessionNeeds {
  config: AdmitPersonNeeds['config'] & StartSessionNeeds['config'] & Pick<Config, 'baseUrl'>
  database: Database
  oauth: OAuth
  loginFlows: LoginFlowStore
  clock: Clock
}

export const loginFlowSeconds = 600

/** Generous, because many people may share an address, for example in an office. */
const startsPerMinute = { narrow: perMinute(60), wide: perMinute(600) }

export async function beginBrowserLogin(
  { config, database, oauth, loginFlows, clock }: BrowserLoginNeeds,
  provider: LoginProvider,
  { redirectAfter, address }: { redirectAfter: string; address: string },
): Promise<{ authorizationUrl: URL; cookie: Secret }> {
  await database.transaction((tx) => takeFromLimits(tx, address, clock()))
  const redirectUri = callbackUrl(config, provider.id)
  const request = { redirectUri, scopes: provider.scopes, params: {} }
  const { url, checks } = await withLoginErrors(async () => oauth.beginCode(await provider.client(), request))
  const cookie = mintToken('prelogin')
  const createdAt = clock()
  const flow = {
    flowId: newId('lfl', createdAt),
    provider: provider.id,
    cookieHash: hashToken(cookie),
    stateHash: hashToken(checks.state),
    redirectAfter,
    verifier: checks.verifier,
    nonce: checks.nonce,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + loginFlowSeconds * 1000),
  }
  await database.transaction((tx) => loginFlows.insert(tx, flow))
  return { authorizationUrl: url, cookie }
}

/** What the browser returned with. */
export interface LoginAnswer {
  cookie: string | undefined
  query: Secret
  state: Secret | undefined
}

export async function endBrowserLogin(
  needs: BrowserLoginNeeds,
  provider: LoginProvider,
  answer: LoginAnswer,
  requestId: string,
): Promise<{ sessionToken: Secret; redirectAfter: string }> {
  const flow = await takeFlow(needs, provider.id, answer)
  const { redirectAfter } = flow
  return withRedirectAfter(redirectAfter, async () => {
    const sessionToken = await admit(needs, provider, answer, flow, requestId)
    return { sessionToken, redirectAfter }
  })
}

async function admit(
  needs: BrowserLoginNeeds,
  provider: LoginProvider,
  answer: LoginAnswer,
  { verifier, nonce, state }: LoginFlow & { state: Secret },
  requestId: string,
): Promise<Secret> {
  const { config, oauth } = needs
  const callback = new URL(callbackUrl(config, provider.id))
  callback.search = answer.query.reveal()
  const person = await withLoginErrors(async () => {
    const client = await provider.client()
    return provider.identify(client, await oauth.endCode(client, callback, { state, verifier, nonce }))
  })
  const sessionToken = mintToken('session')
  await retryConcurrentLogin(() =>
    needs.database.transaction(async (tx) => {
      const occasion = { at: needs.clock(), requestId, via: provider.id }
      const user = await admitPerson(needs, tx, person, occasion)
      await startSession(needs, tx, user, { ...occasion, sessionToken })
    }),
  )
  return sessionToken
}

/** Consumes the flow before any request to the provider, so a repeated code is sent there only once. */
async function takeFlow(
  { database, loginFlows, clock }: BrowserLoginNeeds,
  provider: LoginProviderId,
  { cookie, state }: LoginAnswer,
): Promise<LoginFlow & { state: Secret }> {
  if (!state) throw new LoginFailed('invalid_state', 'no state')
  if (cookie === undefined || !isWellFormedToken('prelogin', cookie)) {
    throw new LoginFailed('invalid_state', 'no pre-login cookie')
  }
  const proof = { provider, cookieHash: hashToken(new Secret(cookie)), stateHash: hashToken(state) }
  const flow = await database.transaction((tx) => loginFlows.consume(tx, proof, clock()))
  if (!flow) throw new LoginFailed('invalid_state', 'no such flow')
  return { ...flow, state }
}

async function retryConcurrentLogin(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work()
      return
    } catch (error) {
      if (!(error instanceof ConcurrentLogin) || attempt === 3) throw error
    }
  }
}

function callbackUrl({ baseUrl }: Pick<Config, 'baseUrl'>, provider: LoginProviderId): string {
  return `${baseUrl.origin}/v4/auth/callback/${provider}`
}

async function takeFromLimits(tx: Queries, address: string, now: Date): Promise<void> {
  const { narrow, wide } = addressBlock(address)
  await takeFromLimit(tx, `browser-login:${narrow}`, startsPerMinute.narrow, now)
  if (wide) await takeFromLimit(tx, `browser-login:${wide}`, startsPerMinute.wide, now)
}
