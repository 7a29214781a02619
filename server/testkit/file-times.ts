/** The time that each test file takes, for `npm test -- --slowest`: elapsed, and CPU time. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

interface FileTime {
  file: string
  seconds: number
  /** Includes child processes that have exited, but not the PostgreSQL server. */
  cpuSeconds: number
}

/** Returns a function to call at the end of the file. */
export function measureFile(file: string): () => void {
  const list = process.env['TEST_FILE_TIMES']
  if (list === undefined) return () => undefined
  const start = performance.now()
  const cpuBefore = cpuSeconds()
  return () => {
    const time: FileTime = {
      file,
      seconds: (performance.now() - start) / 1000,
      cpuSeconds: cpuSeconds() - cpuBefore,
    }
    appendFileSync(list, `${JSON.stringify(time)}\n`)
  }
}

function cpuSeconds(): number {
  const own = '/proc/self/stat'
  if (!existsSync(own)) {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  // The fields after the name in brackets, which may contain anything: own and children's CPU time, in hundredths.
  const members = readFileSync(own, 'utf8').split(') ').at(-1)?.split(' ').slice(11, 15) ?? []
  return members.reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}

/** Only of these files, as a test of the runner itself runs others. */
export function slowest(list: string, files: readonly string[], count = 30): string[] {
  const lines = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n') : []
  const times = lines
    .map((line) => JSON.parse(line) as FileTime)
    .filter(({ file }) => files.includes(file))
    .sort((one, other) => other.seconds - one.seconds)
  const column = (seconds: number) => seconds.toFixed(1).padStart(7)
  return [
    '  clock     cpu  file (seconds)',
    ...times.slice(0, count).map(({ file, seconds, cpuSeconds: cpu }) => `${column(seconds)} ${column(cpu)}  ${file}`),
  ]
}
