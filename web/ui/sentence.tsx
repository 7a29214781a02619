import { Theirs } from './view.tsx'
import type { Words } from './words.ts'

/** Renders a sentence with untrusted parts, each visually set apart. */
export function Sentence({ words }: { words: Words }) {
  return words.map((part, index) => (typeof part === 'string' ? part : <Theirs key={index}>{part.theirs}</Theirs>))
}
