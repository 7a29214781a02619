/** What each test file takes, for `npm test -- --slowest`: on the clock, and of the processors. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

interface FileTime {
  file: string
  seconds: number
  /** Its processes that have ended count with it; the PostgreSQL server does not. */
  cpuSeconds: number
}

/** Returns what is to be called at the file's end. */
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
  // Behind the name in brackets, which may hold anything: of itself and of its ended children, in hundredths.
  const members = readFileSync(own, 'utf8').split(') ').at(-1)?.split(' ').slice(11, 15) ?? []
  return members.reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}

/** Of these files; a test of the runner itself runs others. */
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
