/** Results go to standard output, messages to standard error. Only terminals get colors. */
import type { WriteStream } from 'node:tty'
import { inLine, inLines, safeJson } from './terminal-text.ts'

export type Stream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const
export type Style = (look: keyof typeof codes, text: string) => string

export interface Column<T> {
  title: string
  /** The value for people. */
  shown: (record: T) => string
  /** The value for scripts, if different. */
  exact?: (record: T) => string
  look?: (record: T) => keyof typeof codes | undefined
}

export interface Output {
  isTerminal: boolean
  style: Style
  sayStyle: Style
  /** Prints a line of the result. Control characters in it are escaped. */
  line: (text?: string) => void
  /** Prints a message. */
  say: (text?: string) => void
  /** Prints untrusted text of several lines. */
  text: (text: string) => void
  bytes: (chunk: Uint8Array) => Promise<void>
  json: (value: unknown) => void
  /** Prints a record as one line of JSON. */
  jsonLine: (value: unknown) => void
  table: <T>(columns: Column<T>[], records: T[], none: string) => void
  /** Shows a line that the next one replaces. Only on a terminal. */
  progress: (text: string | undefined) => void
}

export function createOutput(stdout: Stream, stderr: Stream, env: Record<string, string | undefined>): Output {
  const style = styleFor(stdout, env)
  const sayStyle = styleFor(stderr, env)
  let isProgressShown = false
  const clear = () => {
    if (isProgressShown) stderr.write('\r\u001b[K')
    isProgressShown = false
  }
  const write = (text: string) => {
    clear()
    stdout.write(text)
  }
  const output: Output = {
    isTerminal: stdout.isTTY === true,
    style,
    sayStyle,
    line: (text = '') => {
      write(`${text}\n`)
    },
    say: (text = '') => {
      clear()
      stderr.write(`${text}\n`)
    },
    text: (text) => {
      const safe = output.isTerminal ? inLines(text) : text
      write(safe.endsWith('\n') || !output.isTerminal ? safe : `${safe}\n`)
    },
    bytes: async (chunk) => {
      clear()
      if (stdout.write(chunk)) return
      await new Promise<void>((resolve) => stdout.once('drain', resolve))
    },
    json: (value) => {
      write(`${safeJson(JSON.stringify(value, null, 2))}\n`)
    },
    jsonLine: (value) => {
      write(`${safeJson(JSON.stringify(value))}\n`)
    },
    table: (columns, records, none) => {
      if (!output.isTerminal) {
        for (const one of records)
          write(`${columns.map(({ shown, exact = shown }) => inLine(exact(one))).join('\t')}\n`)
      } else if (records.length === 0) output.say(none)
      else write(drawTable(columns, records, style, stdout.columns ?? 80))
    },
    progress: (text) => {
      if (stderr.isTTY !== true) return
      clear()
      if (text === undefined) return
      stderr.write(cut(text, (stderr.columns ?? 80) - 1))
      isProgressShown = true
    },
  }
  return output
}

function styleFor(stream: Stream, env: Record<string, string | undefined>): Style {
  const isPlain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return (look, text) => (isPlain ? text : `\u001b[${codes[look][0]}m${text}\u001b[${codes[look][1]}m`)
}

function drawTable<T>(columns: Column<T>[], records: T[], style: Style, width: number): string {
  const cells = records.map((one) => columns.map(({ shown }) => inLine(shown(one))))
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...cells.map((row) => widthOf(row[at] ?? ''))))
  // Shrink the widest columns to fit, except the first, which people copy.
  for (let over = total(widths) - width; over > 0; over--) {
    const widest = widths.slice(1).reduce((best, now, at) => (now > (widths[best] ?? 0) ? at + 1 : best), 1)
    if ((widths[widest] ?? 0) <= 5) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  const row = (texts: string[], paint: (text: string, at: number) => string) =>
    texts
      .map((text, at) => {
        const fitting = cut(text, widths[at] ?? 0)
        const padding = at === texts.length - 1 ? '' : ' '.repeat((widths[at] ?? 0) - widthOf(fitting))
        return paint(fitting, at) + padding
      })
      .join('  ')
      .trimEnd()
  const titles = row(
    columns.map(({ title }) => title),
    (text) => style('bold', text),
  )
  const lines = records.map((one, index) =>
    row(cells[index] ?? [], (text, at) => {
      const look = columns[at]?.look?.(one)
      return look ? style(look, text) : text
    }),
  )
  return [titles, ...lines, ''].join('\n')
}

function total(widths: number[]): number {
  return widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1))
}

function cut(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

function widthOf(text: string): number {
  return Array.from(text).length
}
