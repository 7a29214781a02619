/** The API reference page: OpenAPI Explorer in our colors. The build copies its script next to the service. */
import { existsSync } from 'node:fs'
import type { Http } from '../platform/http/http.ts'
import { publicDocument, publicFile } from '../platform/http/public-document.ts'
import { allowingInlineStyles } from '../platform/http/security-headers.ts'
import { page, script, style } from './reference-page.ts'

export function referenceRoutes(http: Http, root: string): void {
  const hidden = { schema: { hide: true } }
  const explorer = `${root}/openapi-explorer.js`
  const isBuilt = existsSync(explorer)
  const html = publicDocument('text/html; charset=utf-8', () => page({ isBuilt }))
  // The explorer sets its colors in <style> elements. It shows no text of callers.
  for (const path of ['/docs', '/docs/'])
    http.get(path, { ...hidden, config: { contentSecurityPolicy: allowingInlineStyles } }, html)
  http.get(
    '/docs/static/reference.css',
    hidden,
    publicDocument('text/css; charset=utf-8', () => style),
  )
  http.get(
    '/docs/static/reference.js',
    hidden,
    publicDocument('text/javascript; charset=utf-8', () => script),
  )
  if (!isBuilt) return
  http.get('/docs/static/openapi-explorer.js', hidden, publicFile(explorer, 'public, max-age=86400'))
}
