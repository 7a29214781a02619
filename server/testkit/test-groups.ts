/** Says which test files share a process: a process of its own for each costs more than most of them do themselves. */

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

const filesInGroup = 20

/** What belongs to the whole process, and would be felt by whoever runs after. */
const touchesProcess = /\bprocess\.|\bglobalThis\b|\bmock\b/

/** Tests of the whole service start and kill processes; the others are alone where they touch their own. */
export function runsAlone({ path, text }: TestFile): boolean {
  return path.startsWith('e2e/') || touchesProcess.test(text)
}

/** Dealt like cards, as neighbours take about as long as each other: no group gets all the slow ones. */
export function groupTests(files: readonly TestFile[]): TestGroups {
  const isAlone = (file: TestFile) => files.length === 1 || runsAlone(file)
  const shared = files.filter((file) => !isAlone(file))
  const count = Math.ceil(shared.length / filesInGroup)
  const together = Array.from({ length: count }, (_, group) =>
    shared.filter((_file, index) => index % count === group).map(({ path }) => path),
  )
  return { together, alone: files.filter(isAlone).map(({ path }) => path) }
}
