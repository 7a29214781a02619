import type { Config } from '../config/config.ts'
import { loginFlowSeconds } from './browser-login.ts'

export function sessionCookieOptions({ baseUrl }: Pick<Config, 'baseUrl'>) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: baseUrl.protocol === 'https:' } as const
}

/** SameSite=Lax, because the browser returns from the provider's site. */
export function loginCookieOptions(config: Pick<Config, 'baseUrl'>) {
  return { ...sessionCookieOptions(config), path: '/v4/auth', maxAge: loginFlowSeconds } as const
}
