/** The names given with `--only`, or all if there are none. */
export function chosen(only: string[], known: string[]): string[] {
  const unknown = only.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`--only takes ${known.join(', ')}, not ${unknown.join(', ')}`)
  return only.length === 0 ? known : only
}
