import type { OptionSpecs } from './command.ts'

export const limitOption = {
  limit: { type: 'number', value: 'N', range: [1, 10_000], summary: 'maximum number of results (default: 100)' },
} as const satisfies OptionSpecs

/** The first records of a list. Fetches no more pages than needed. */
export async function take<T>(records: AsyncIterable<T>, limit = 100): Promise<T[]> {
  const taken: T[] = []
  for await (const record of records) {
    taken.push(record)
    if (taken.length >= limit) break
  }
  return taken
}
