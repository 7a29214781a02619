/**
 * Every setting of the service: its name, type, default and meaning. The service does not start with an invalid one.
 * Nothing else in the service reads the environment.
 */
import {
  defaultBaseUrl,
  platformContradictions,
  platformSecretSettings,
  platformSettings,
} from '../platform/config/platform-settings.ts'
import { ConfigError, memberOf, readSecret, readSetting } from '../platform/config/settings.ts'
import type { Environment, Setting, ValuesOf } from '../platform/config/settings.ts'
import { legacyV1Settings } from './legacy-v1-settings.ts'
import { loginContradictions, loginSecretSettings, loginSettings } from './login-settings.ts'
import { serviceSettings } from './service-settings.ts'

export const settings = { ...platformSettings, ...serviceSettings, ...loginSettings, ...legacyV1Settings }

/** Secret settings. Each may also be given as NAME_FILE (a path) or NAME_COMMAND (a command that prints it). */
export const secretSettings = { ...platformSecretSettings, ...loginSecretSettings }

type Values = ValuesOf<typeof settings, typeof secretSettings>
export type Config = Readonly<Omit<Values, 'baseUrl'> & { baseUrl: URL }>

export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const attempt = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      problems.push(...error.problems)
      return undefined as T
    }
  }
  const plain = Object.entries<Setting<unknown>>(settings)
  const config = Object.fromEntries([
    ...plain.map(([name, one]) => [memberOf(name), attempt(() => readSetting(name, one, env))]),
    ...Object.keys(secretSettings).map((name) => [memberOf(name), attempt(() => readSecret(name, env))]),
  ]) as Values
  if (problems.length === 0) problems.push(...platformContradictions(config), ...loginContradictions(config))
  if (problems.length > 0) throw new ConfigError(problems)
  return { ...config, baseUrl: config.baseUrl ?? defaultBaseUrl(config) }
}

/** What the command line (`sallyport`) reads, which may run in the same environment. */
const ofCommandLine = ['AGENT_TOKEN', 'CONFIG_DIR', 'MCP_TOKEN', 'PROFILE', 'SESSION_TOKEN', 'URL']

/** Variables with our prefix that are not settings: most likely misspelled. */
export function unknownSettings(env: Environment): string[] {
  const secret = Object.keys(secretSettings).flatMap((name) => [name, `${name}_FILE`, `${name}_COMMAND`])
  const known = new Set([...Object.keys(settings), ...secret, ...ofCommandLine.map((name) => `SALLYPORT_${name}`)])
  return Object.keys(env).filter((name) => name.startsWith('SALLYPORT_') && !known.has(name))
}
