/** Exit codes for scripts. They never change their meaning. docs/cli.md has the same table. */
export const exitCodes = {
  done: 0,
  unexpected: 1,
  usage: 2,
  credential: 3,
  refused: 4,
  denied: 5,
  pending: 6,
  unavailable: 7,
  upstream: 8,
  unverified: 9,
  upstreamClientError: 22,
  upstreamServerError: 23,
  notExecutable: 126,
  noProgram: 127,
  interrupted: 130,
  closedPipe: 141,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
