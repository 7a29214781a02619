import { readFileSync } from 'node:fs'
import type { Http } from '../platform/http/http.ts'
import { publicDocument } from '../platform/http/public-document.ts'

/** The service URL in SKILL.md, replaced when it is served. */
const usualBase = 'http://localhost:8787'

/** SKILL.md, inlined when the service is bundled. */
declare const bundledAgentGuide: string | undefined

/** Serves SKILL.md with this service's own URL and without the front matter for skill folders. */
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
