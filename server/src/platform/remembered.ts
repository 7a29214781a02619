const kept = 10_000

/** A pure function of one text whose results are kept. Past a bound all are forgotten: they can be made again. */
export function remembered<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, Made>()
  return (text) => {
    const known = made.get(text)
    if (known !== undefined) return known
    const result = make(text)
    if (made.size >= kept) made.clear()
    made.set(text, result)
    return result
  }
}
