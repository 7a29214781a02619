/** What the demo takes from the environment: where to be, and how to log. It sets up the rest itself. */
import { resolve } from 'node:path'

/** A start that is refused, with one line that says why. */
export class DemoRefused extends Error {}

export interface DemoSettings {
  /** Undefined: 8787, or another where that is taken. */
  port: number | undefined
  /** Everything of the demo is in it, and nothing else. */
  folder: string
  /** For the service: what has nothing to do with its settings, and how it logs. */
  env: NodeJS.ProcessEnv
  /** Settings that are set, and do not count. */
  ignored: string[]
}

type Environment = Readonly<NodeJS.ProcessEnv>

/** With these the person means a service for more than a look. */
const contradicting = ['DATABASE_URL', 'SALLYPORT_BASE_URL', 'SALLYPORT_TLS_CERT_FILE', 'SALLYPORT_TLS_KEY_FILE']
const used = ['PORT', 'HOST', 'SALLYPORT_DATA_DIR', 'SALLYPORT_LOG_LEVEL', 'SALLYPORT_LOG_FORMAT']
const loopback = ['127.0.0.1', '::1', 'localhost']

export function readDemoSettings(words: readonly string[], env: Environment): DemoSettings {
  const others = words.filter((word) => word !== '--demo')
  if (others.length > 0) throw new DemoRefused(`--demo stands alone; leave out: ${others.join(' ')}`)
  const isSet = (name: string) => env[name] !== undefined && env[name] !== ''
  const isSetting = (name: string) => name.startsWith('SALLYPORT_') || contradicting.some((one) => name.startsWith(one))
  const set = Object.keys(env).filter(isSet)
  const wrong = set.find((name) => contradicting.some((one) => name.startsWith(one)))
  if (wrong !== undefined) {
    throw new DemoRefused(`${wrong} is set, and the demo is for this machine alone. Unset it, or leave out --demo.`)
  }
  const host = env['HOST'] ?? ''
  if (host !== '' && !loopback.includes(host)) {
    throw new DemoRefused(`HOST is ${host}, and the demo is for this machine alone. Unset it, or leave out --demo.`)
  }
  const kept = set.filter((name) => (isSetting(name) ? name.startsWith('SALLYPORT_LOG_') : !used.includes(name)))
  return {
    port: isSet('PORT') ? readPort(env['PORT'] ?? '') : undefined,
    folder: folderOf(env),
    env: { SALLYPORT_LOG_LEVEL: 'warn', ...Object.fromEntries(kept.map((name) => [name, env[name]])) },
    ignored: set.filter((name) => isSetting(name) && !used.includes(name)),
  }
}

export function folderOf(env: Environment): string {
  return resolve(env['SALLYPORT_DATA_DIR'] || './data', 'demo')
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new DemoRefused(`PORT is ${text}; it takes a number from 1 to 65535.`)
  return port
}
