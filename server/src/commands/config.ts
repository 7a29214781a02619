import { readConfig, secretSettings, settings, unknownSettings } from '../config/config.ts'
import type { Environment } from '../platform/config/settings.ts'
import { redacted } from '../platform/secret.ts'
import { ConfigError } from '../platform/config/settings.ts'
import type { Setting } from '../platform/config/settings.ts'

interface Row {
  name: string
  value: string
  isSet: boolean
  fallback: string
  meaning: string
}

/** Lists all settings and their values, and reports invalid ones. */
export function showConfig(env: Environment): Promise<number> {
  const rows = [...plainRows(env), ...secretRows(env)]
  const width = Math.max(...rows.map(({ name }) => name.length))
  for (const { name, value, isSet, fallback, meaning } of rows) {
    const source = isSet ? `(default ${fallback})` : '(default)'
    process.stdout.write(`${name.padEnd(width)}  ${value}  ${source}\n${' '.repeat(width)}  ${meaning}\n`)
  }
  for (const name of unknownSettings(env)) process.stderr.write(`Unknown setting: ${name}. Is it misspelled?\n`)
  try {
    readConfig(env)
    return Promise.resolve(0)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`\n${error.problems.map((problem) => `Invalid: ${problem}`).join('\n')}\n`)
    return Promise.resolve(1)
  }
}

function plainRows(env: Environment): Row[] {
  return Object.entries<Setting<unknown>>(settings).map(([name, { fallback, meaning }]) => ({
    name,
    value: env[name] ?? fallback ?? 'none',
    isSet: env[name] !== undefined,
    fallback: fallback ?? 'none',
    meaning,
  }))
}

function secretRows(env: Environment): Row[] {
  return Object.entries(secretSettings).map(([name, { fallback, meaning }]) => {
    const variants = [name, `${name}_FILE`, `${name}_COMMAND`].filter((variant) => env[variant])
    const value = variants.length === 0 ? fallback : `${redacted} from ${variants.join(' and ')}`
    return {
      name,
      value,
      isSet: variants.length > 0,
      fallback,
      meaning: `${meaning} (also as ${name}_FILE or ${name}_COMMAND)`,
    }
  })
}
