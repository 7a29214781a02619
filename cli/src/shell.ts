import type { Output } from './output.ts'

/** What a command is given of the world. Only command-line.ts reads the process itself. */
export interface Shell {
  env: Record<string, string | undefined>
  platform: NodeJS.Platform
  home: string
  output: Output
  /** All of standard input, to its end. */
  stdin: () => Promise<Buffer>
  /** Aborts on Ctrl-C and SIGTERM. */
  interrupted: AbortSignal
  /** As given by --profile, --url and --json. */
  profile: string | undefined
  url: string | undefined
  json: boolean
}
