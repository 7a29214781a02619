/** The page around the explorer, with the colors of the console (web/ui/theme.css) in both schemes. */

export function page({ isBuilt }: { isBuilt: boolean }): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Sallyport API reference</title>
    <link rel="icon" href="/favicon.svg">
    <link rel="stylesheet" href="/docs/static/reference.css">
    <link rel="preload" as="fetch" href="/docs/json" crossorigin>
  </head>
  <body>
    <openapi-explorer spec-url="/docs/json" hide-server-selection collapse table>
      <a slot="nav-header" href="/">Sallyport</a>
      <div slot="overview">
        <h1>API reference</h1>
        <p>
          Every request carries a token: <code>Authorization: Bearer …</code>. Register an agent to get one, then start its
          sandbox: a grant without a person, to try <code>POST /v4/proxy</code> with. Each operation has an example for
          curl, TypeScript and Python.
        </p>
        <p>
          Errors have one shape, with a stable <code>code</code>, the <code>field</code> at fault and what to do.
          <a href="/openapi.json">openapi.json</a> is what this page shows; <a href="/llms.txt">llms.txt</a> is the short
          guide for agents.
        </p>
      </div>
    </openapi-explorer>
    <script src="/docs/static/reference.js"></script>
    ${
      isBuilt
        ? '<script type="module" src="/docs/static/openapi-explorer.js"></script>'
        : '<p>This page is not built. In the folder of the service, run: npm run build</p>'
    }
    <noscript><p>This page needs JavaScript. The reference as data: <a href="/openapi.json">openapi.json</a></p></noscript>
  </body>
</html>
`
}

/** The explorer takes its main colors from attributes. */
export const script = `const explorer = document.querySelector('openapi-explorer')
const isDark = matchMedia('(prefers-color-scheme: dark)')
const [light, dark] = [
  ['#ffffff', '#1b1f1d', '#1f6350', '#f6f5f1', '#1b1f1d', '#e3efe9'],
  ['#191d1b', '#eceee9', '#7cc7ab', '#111413', '#eceee9', '#1d3129'],
]
function paint() {
  const [ground, ink, accent, nav, navInk, hover] = isDark.matches ? dark : light
  const colors = {
    'bg-color': ground,
    'text-color': ink,
    'header-color': ink,
    'primary-color': accent,
    'secondary-color': accent,
    'nav-bg-color': nav,
    'nav-text-color': navInk,
    'nav-hover-bg-color': hover,
    'nav-hover-text-color': accent,
  }
  for (const [name, color] of Object.entries(colors)) explorer.setAttribute(name, color)
}
paint()
isDark.addEventListener('change', paint)
`

export const style = `:root {
  color-scheme: light dark;
  --ground: light-dark(#ffffff, #191d1b); --raised: light-dark(#faf9f6, #202523); --line: light-dark(#e4e1d8, #2d3431);
  --ink: light-dark(#1b1f1d, #eceee9); --quiet: light-dark(#5c625d, #a3aca6); --accent: light-dark(#1f6350, #7cc7ab);
}
/* The explorer computes with these, so they have to be plain. */
openapi-explorer {
  --green: #1f6350; --blue: #1c5a94; --orange: #7a4a00; --red: #a3281f; --purple: #5d3a9b; --yellow: #7a4a00;
  --gray: #5c625d;
}
@media (prefers-color-scheme: dark) {
  openapi-explorer {
    --green: #7cc7ab; --blue: #8fc0f0; --orange: #e9bd6c; --red: #f2958c; --purple: #c3a6f5; --yellow: #e9bd6c;
    --gray: #a3aca6;
  }
}
html, body { margin: 0; height: 100%; }
body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
openapi-explorer {
  display: block; height: 100dvh;
  --font-regular: system-ui, sans-serif; --font-mono: ui-monospace, Menlo, Consolas, monospace;
  --font-size-small: 14px; --font-size-mono: 14px; --font-size-regular: 16px;
  --bg2: var(--raised); --bg3: var(--raised); --border-color: var(--line); --light-border-color: var(--line);
  --input-bg: var(--ground); --light-fg: var(--quiet); --fg3: var(--quiet); --placeholder-color: var(--quiet);
  --light-green: var(--raised); --light-blue: var(--raised); --light-orange: var(--raised); --light-red: var(--raised);
  --light-purple: var(--raised); --light-yellow: var(--raised); --light-gray: var(--raised);
  --inline-code-fg: var(--ink); --code-fg: var(--ink);
  --code-property-color: var(--purple); --code-keyword-color: var(--blue); --code-operator-color: var(--orange);
}
[slot='nav-header'] { display: block; padding: 16px 20px 4px; font-weight: 650; color: inherit; text-decoration: none; }
[slot='overview'] { max-width: 70ch; }
[slot='overview'] a { color: var(--accent); }
@media (max-width: 768px) {
  [slot='overview'] { padding: 0 16px; overflow-wrap: anywhere; }
}
code { font: 0.9em ui-monospace, Menlo, Consolas, monospace; }
`
