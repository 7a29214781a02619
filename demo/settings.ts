/** The demo's settings from the environment: port, folder and logging. It sets everything else itself. */
import { resolve } from 'node:path'

/** A refused start, with the reason in one line. */
export class DemoRefused extends Error {}

export interface DemoSettings {
  /** Undefined: 8787, or a free port if that is in use. */
  port: number | undefined
  /** Contains all data of the demo, and nothing else. */
  folder: string
  /** The environment of the service: without its settings, except logging. */
  env: NodeJS.ProcessEnv
  /** Settings that are set but ignored. */
  ignored: string[]
}

type Environment = Readonly<NodeJS.ProcessEnv>

/** Settings of a real installation, which contradict a demo. */
const contradicting = ['DATABASE_URL', 'SALLYPORT_BASE_URL', 'SALLYPORT_TLS_CERT_FILE', 'SALLYPORT_TLS_KEY_FILE']
const used = ['PORT', 'HOST', 'SALLYPORT_DATA_DIR', 'SALLYPORT_LOG_LEVEL', 'SALLYPORT_LOG_FORMAT']
const loopback = ['127.0.0.1', '::1', 'localhost']

export function readDemoSettings(words: readonly string[], env: Environment): DemoSettings {
  const others = words.filter((word) => word !== '--demo')
  if (others.length > 0) throw new DemoRefused(`--demo takes no other arguments; remove: ${others.join(' ')}`)
  const isSet = (name: string) => env[name] !== undefined && env[name] !== ''
  const isSetting = (name: string) => name.startsWith('SALLYPORT_') || contradicting.some((one) => name.startsWith(one))
  const set = Object.keys(env).filter(isSet)
  const wrong = set.find((name) => contradicting.some((one) => name.startsWith(one)))
  if (wrong !== undefined) {
    throw new DemoRefused(`${wrong} is set, but the demo runs on this machine only. Unset it, or leave out --demo.`)
  }
  const host = env['HOST'] ?? ''
  if (host !== '' && !loopback.includes(host)) {
    throw new DemoRefused(`HOST is ${host}, but the demo runs on this machine only. Unset it, or leave out --demo.`)
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
  if (port < 1 || port > 65_535) throw new DemoRefused(`PORT is ${text}; it must be a number from 1 to 65535.`)
  return port
}
