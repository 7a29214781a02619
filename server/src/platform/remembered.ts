import { keep } from './keep.ts'

/** A pure function of one text whose results are kept. */
export function remembered<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, Made>()
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    const result = make(text)
    keep(made, text, result)
    return result
  }
}
