import { readFileSync } from 'node:fs'
import type { Http } from './http.ts'
import { publicDocument } from './public-document.ts'

/** Where the guide says that the service is, unless it is served. */
const usualBase = 'http://localhost:8787'

/** SKILL.md for agents that come without it, with this service's own address and without the head for skill folders. */
export function agentGuideRoutes(http: Http, file: URL, baseUrl: URL): void {
  const text = readFileSync(file, 'utf8')
    .replace(/^---\n[^]*?\n---\n+/, '')
    .replaceAll(usualBase, baseUrl.origin)
  http.get(
    '/llms.txt',
    { schema: { hide: true } },
    publicDocument('text/plain; charset=utf-8', () => text),
  )
}
