/** Cookies for the few routes that use them. */
import { parseCookie, stringifySetCookie } from 'cookie'
import type { SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

type CookieOptions = Omit<SetCookie, 'name' | 'value'>

/**
 * The value of the cookie, if it occurs exactly once. Another site under the same domain can set a second one with the same
 * name, and there is no way to tell which is ours.
 */
export function onlyCookie({ headers }: FastifyRequest, name: string): string | undefined {
  const { cookie } = headers
  return cookie !== undefined && countCookies(cookie, name) === 1 ? parseCookie(cookie)[name] : undefined
}

export function hasCookie({ headers: { cookie } }: FastifyRequest, name: string): boolean {
  return cookie !== undefined && countCookies(cookie, name) > 0
}

function countCookies(cookie: string, name: string): number {
  return cookie.split(';').filter((pair) => pair.split('=', 1)[0]?.trim() === name).length
}

/** Adds to cookies that are already set: Fastify keeps all `set-cookie` headers. */
export function setCookie(reply: FastifyReply, name: string, value: string, options: CookieOptions): void {
  reply.header('set-cookie', stringifySetCookie({ ...options, name, value }))
}

export function clearCookie(reply: FastifyReply, name: string, options: CookieOptions): void {
  setCookie(reply, name, '', { ...options, maxAge: 0, expires: new Date(0) })
}
