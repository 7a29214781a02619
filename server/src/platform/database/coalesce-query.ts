/** One question for all who ask it at about the same time: its answer is never older than anyone's asking. */

/** Those who ask in one breath share an answer, and so do those who ask while one is under way: the next. */
export function coalesce<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<Answer> | undefined
  const askNext = async () => {
    await current
    await afterAllOfThem()
    next = undefined
    const answer = ask()
    current = answer.catch(() => undefined)
    return answer
  }
  return () => (next ??= askNext())
}

function afterAllOfThem(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve)
  })
}
