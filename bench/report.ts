/** The results as a table. */

export interface Row {
  what: string
  /** The baseline, and our result. */
  theirs: string
  ours: string
  result: string
  bar: string
  /** Undefined if there is no target. */
  isMet: boolean | undefined
}

const head: Row = {
  what: 'what',
  theirs: 'against',
  ours: 'ours',
  result: 'result',
  bar: 'bar (aim)',
  isMet: undefined,
}

export function table(rows: Row[]): string {
  const cells = [head, ...rows].map((row) => [
    row.what,
    row.theirs,
    row.ours,
    row.result,
    row.bar,
    row === head ? '' : row.isMet === undefined ? 'shown' : row.isMet ? 'met' : 'NOT MET',
  ])
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [lines[0], widths.map((width) => '─'.repeat(width)).join('  '), ...lines.slice(1)].join('\n')
}

export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`
export const micros = (value: number) => `${Math.round(value)} µs CPU`
export const millis = (value: number) => `${value.toFixed(2)} ms`
export const mebibytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** The median with the minimum and maximum. */
export function spread(values: number[], middle: number): string {
  return `${middle.toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`
}
