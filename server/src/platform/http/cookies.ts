/** Cookies for the few routes that read or set them; all others pay nothing for it. */
import { parseCookie, stringifySetCookie } from 'cookie'
import type { SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

type CookieOptions = Omit<SetCookie, 'name' | 'value'>

/**
 * The cookie of this name, where there is one and no more. A neighbour under the same domain can set another beside
 * ours, and which of two is ours can't be told.
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

/** Beside those that are set already: the framework keeps them all. */
export function setCookie(reply: FastifyReply, name: string, value: string, options: CookieOptions): void {
  reply.header('set-cookie', stringifySetCookie({ ...options, name, value }))
}

export function clearCookie(reply: FastifyReply, name: string, options: CookieOptions): void {
  setCookie(reply, name, '', { ...options, maxAge: 0, expires: new Date(0) })
}
