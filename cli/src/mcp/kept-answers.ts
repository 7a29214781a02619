/** Keeps long responses for a while, so that a model can read more of them. Each session has its own store. */
import { randomBytes } from 'node:crypto'

export interface KeptAnswer {
  source: string
  text: string
}

export interface KeptAnswers {
  keep: (answer: KeptAnswer) => string
  find: (id: string) => KeptAnswer | undefined
}

const most = 16
const mostCharacters = 32 * 1024 * 1024

export function createKeptAnswers(): KeptAnswers {
  const answers = new Map<string, KeptAnswer>()
  return {
    keep: (answer) => {
      const id = `res_${randomBytes(9).toString('base64url')}`
      answers.set(id, answer)
      let size = [...answers.values()].reduce((sum, { text }) => sum + text.length, 0)
      for (const [oldest, { text }] of answers) {
        if (answers.size <= most && size <= mostCharacters) break
        answers.delete(oldest)
        size -= text.length
      }
      return id
    },
    find: (id) => answers.get(id),
  }
}

/** A part of a text that does not split a surrogate pair. */
export function partOf(text: string, offset: number, length: number): { part: string; end: number } {
  const isHalf = (at: number) => /[\udc00-\udfff]/.test(text.charAt(at)) && /[\ud800-\udbff]/.test(text.charAt(at - 1))
  const start = isHalf(offset) ? offset + 1 : offset
  const wanted = Math.min(start + length, text.length)
  const end = wanted > start + 1 && isHalf(wanted) ? wanted - 1 : wanted
  return { part: text.slice(start, end), end }
}

/** Tells the model how to read more. */
export function rest(id: string, end: number, length: number): string {
  if (end >= length) return `End of the response (${length} characters).`
  return `Shown up to character ${end} of ${length}. To read more: read_result ${JSON.stringify({ result_id: id, offset: end })}`
}
