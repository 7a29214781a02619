import { spawn } from 'node:child_process'
import type { Shell } from './shell.ts'

/** Opens a page in the user's browser. Not through a shell, so that a URL can't run a command. */
export function openBrowser({ env, platform }: Shell, url: string): Promise<boolean> {
  // Normalized by the URL parser: no spaces, quotes or line breaks that another program could misinterpret.
  const { protocol, href } = URL.canParse(url) ? new URL(url) : { protocol: '', href: '' }
  if (!/^https?:$/.test(protocol)) return Promise.resolve(false)
  const [program, ...before] = opener(env, platform)
  if (program === undefined) return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn(program, [...before, href], { stdio: 'ignore', detached: true })
    child.on('error', () => {
      resolve(false)
    })
    child.on('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

function opener(env: Shell['env'], platform: NodeJS.Platform): string[] {
  if (env['BROWSER']) return [env['BROWSER']]
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return ['xdg-open']
}
