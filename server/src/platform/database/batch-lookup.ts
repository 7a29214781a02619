/**
 * Many small questions of the same kind, in one statement. Those that come in the same turn go together, and those that
 * come while one is under way go with the next; nobody waits for company that does not come.
 */
import type { Queries } from './database.ts'

interface Asked<Question, Answer> {
  question: Question
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** One statement takes no more. */
const maxBatch = 64

/** `answer` gives an answer for each question, in their order. */
export function batchLookup<Question, Answer>(
  answer: (queries: Queries, questions: readonly Question[]) => Promise<readonly Answer[]>,
): (queries: Queries, question: Question) => Promise<Answer> {
  const lines = new WeakMap<Queries, Asked<Question, Answer>[]>()

  const serve = async (queries: Queries, line: Asked<Question, Answer>[]) => {
    while (line.length > 0) {
      const asked = line.splice(0, maxBatch)
      try {
        const questions = asked.map(({ question }) => question)
        const answers = await answer(queries, questions)
        asked.forEach(({ resolve }, index) => {
          resolve(answers[index] as Answer)
        })
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    lines.delete(queries)
  }

  return (queries, question) =>
    new Promise((resolve, reject) => {
      const asked = { question, resolve, reject }
      const line = lines.get(queries)
      if (line) {
        line.push(asked)
        return
      }
      const begun = [asked]
      lines.set(queries, begun)
      process.nextTick(() => void serve(queries, begun))
    })
}

/** For statements that may speak of each key only once: the second of its kind is in the second wave, and so on. */
export function groupsWithUniqueKeys<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const seen = new Map<string, number>()
  const waves: T[][] = []
  for (const item of items) {
    const key = keyOf(item)
    const wave = seen.get(key) ?? 0
    seen.set(key, wave + 1)
    ;(waves[wave] ??= []).push(item)
  }
  return waves
}
