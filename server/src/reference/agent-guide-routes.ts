import { readFileSync } from 'node:fs'
import type { Http } from '../platform/http/http.ts'
import { publicDocument } from '../platform/http/public-document.ts'

/** Where the guide says that the service is, unless it is served. */
const usualBase = 'http://localhost:8787'

/** SKILL.md, put in by the bundle. */
declare const bundledAgentGuide: string | undefined

/** SKILL.md for agents that come without it, with this service's own address and without the head for skill folders. */
export function agentGuideRoutes(http: Http, baseUrl: URL): void {
  const guide =
    typeof bundledAgentGuide === 'string'
      ? bundledAgentGuide
      : readFileSync(new URL('../../../SKILL.md', import.meta.url), 'utf8')
  const text = guide.replace(/^---\n[^]*?\n---\n+/, '').replaceAll(usualBase, baseUrl.origin)
  http.get(
    '/llms.txt',
    { schema: { hide: true } },
    publicDocument('text/plain; charset=utf-8', () => text),
  )
}
