import type { FastifyRequest } from 'fastify'

/**
 * The cookie of this name, where there is one and no more. A neighbour under the same domain can set another beside
 * ours, and which of two is ours can't be told.
 */
export function onlyCookie({ headers, cookies }: FastifyRequest, name: string): string | undefined {
  const names = (headers.cookie ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim())
  return names.filter((one) => one === name).length === 1 ? cookies[name] : undefined
}
