import { Theirs } from './view.tsx'
import type { Words } from './words.ts'

/** Words of ours and of others: the others' stand in a place of their own each. */
export function Sentence({ words }: { words: Words }) {
  return words.map((part, index) => (typeof part === 'string' ? part : <Theirs key={index}>{part.theirs}</Theirs>))
}
