/** Decides which test files share a process: starting a process costs more than most files take. */

export interface TestFile {
  /** From the repository's root. */
  path: string
  text: string
}

export interface TestGroups {
  /** The files of one process each, in the order in which they run. */
  together: string[][]
  alone: string[]
}

const filesInGroup = 40
/** The files of a single room are divided among two processes, which may run at the same time. */
const filesInHalf = 20

/** Changes to the whole process, which would affect the files after it. Reading these members changes nothing. */
const touchesProcess = /\bprocess\.(?!(?:arch|execPath|nextTick|pid|platform)\b)|\bglobalThis\b|\bmock\b/

/** Tests of the whole service start and kill processes; other files run alone if they change their process. */
export function runsAlone({ path, text }: TestFile): boolean {
  return path.startsWith('e2e/') || touchesProcess.test(text)
}

/** Round robin, as neighbouring files take similar times: no group gets all the slow ones. */
export function groupTests(files: readonly TestFile[]): TestGroups {
  const isAlone = (file: TestFile) => files.length === 1 || runsAlone(file)
  const shared = files.filter((file) => !isAlone(file))
  const halves = Math.min(2, Math.ceil(shared.length / filesInHalf))
  const count = Math.max(halves, Math.ceil(shared.length / filesInGroup))
  const together = Array.from({ length: count }, (_, group) =>
    shared.filter((_file, index) => index % count === group).map(({ path }) => path),
  )
  return { together, alone: files.filter(isAlone).map(({ path }) => path) }
}
