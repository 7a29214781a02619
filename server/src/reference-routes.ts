/** The API reference page: Swagger UI, whose files the build copies next to the service. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Http } from './platform/http/http.ts'
import { publicDocument, publicFile } from './platform/http/public-document.ts'

const built = fileURLToPath(new URL('../dist/swagger-ui/static', import.meta.url))

const files = ['swagger-ui-bundle.js', 'swagger-ui.css', 'index.css', 'favicon-16x16.png', 'favicon-32x32.png']

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Sallyport API reference</title>
    <link rel="stylesheet" href="/docs/static/swagger-ui.css">
    <link rel="stylesheet" href="/docs/static/index.css">
    <link rel="icon" type="image/png" href="/docs/static/favicon-32x32.png" sizes="32x32">
    <link rel="icon" type="image/png" href="/docs/static/favicon-16x16.png" sizes="16x16">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/static/swagger-ui-bundle.js"></script>
    <script src="/docs/static/swagger-initializer.js"></script>
  </body>
</html>
`

// Without the top bar, which loads other documents and needs an inline style that our CSP forbids.
const initializer = `SwaggerUIBundle({
  url: '/docs/json',
  dom_id: '#swagger-ui',
  layout: 'BaseLayout',
  docExpansion: 'list',
  deepLinking: false,
  validatorUrl: null,
})
`

export function referenceRoutes(http: Http): void {
  const hidden = { schema: { hide: true } }
  const html = publicDocument('text/html; charset=utf-8', () => page)
  for (const path of ['/docs', '/docs/']) http.get(path, hidden, html)
  const script = publicDocument('text/javascript; charset=utf-8', () => initializer)
  http.get('/docs/static/swagger-initializer.js', hidden, script)
  if (!existsSync(built)) return
  for (const name of files)
    http.get(`/docs/static/${name}`, hidden, publicFile(`${built}/${name}`, 'public, max-age=300'))
}
