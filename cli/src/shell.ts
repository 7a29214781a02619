import type { Output } from './output.ts'

/** The environment of a command. Only command-line.ts uses the process itself. */
export interface Shell {
  env: Record<string, string | undefined>
  platform: NodeJS.Platform
  home: string
  output: Output
  /** Reads standard input to its end. */
  stdin: () => Promise<Buffer>
  /** Asks on the terminal. Undefined if standard input is none. */
  ask: ((question: string, how?: { isHidden: boolean }) => Promise<string>) | undefined
  /** Aborts on Ctrl-C and SIGTERM. */
  interrupted: AbortSignal
  /** From now on signals do what they do in any program. `interrupted` stays as it is. */
  releaseSignals: () => void
  /** Values of --profile, --url and --json. */
  profile: string | undefined
  url: string | undefined
  json: boolean
}
