import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const output = at('../server/dist/pages')

/** Compresses scripts and styles at build time instead of per response. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    closeBundle: () => {
      const names = readdirSync(`${output}/assets`).filter((name) => /\.(?:js|css)$/.test(name))
      for (const file of names.map((name) => `${output}/assets/${name}`)) {
        const content = readFileSync(file)
        writeFileSync(`${file}.br`, brotliCompressSync(content))
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
      }
    },
  }
}

/** Two pages. The service's CSP forbids inline scripts, data URLs and other hosts. */
export default defineConfig({
  root: at('.'),
  plugins: [react(), tailwind(), compressed()],
  build: {
    outDir: output,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // Licenses of bundled packages. Published with the pages, but not served.
    license: { fileName: 'licenses.md' },
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      input: {
        console: at('index.html'),
        authenticator: at('authenticator.html'),
        'authenticator-sw': at('authenticator/service-worker.ts'),
      },
      output: {
        // A service worker's URL has to stay the same.
        entryFileNames: ({ name }) => (name === 'authenticator-sw' ? '[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
})
