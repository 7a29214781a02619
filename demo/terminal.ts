/** Terminal output of the demo, in colours if supported. */
import { relative } from 'node:path'
import { styleText } from 'node:util'

export const strong = (text: string) => styleText('bold', text)
export const soft = (text: string) => styleText('dim', text)
export const link = (text: string) => styleText(['cyan', 'underline'], text)
export const good = (text: string) => styleText('green', text)
export const bad = (text: string) => styleText('red', text)

export function say(text = ''): void {
  process.stdout.write(text === '' ? '\n' : `${text.replace(/^/gm, '  ')}\n`)
}

export function step(name: string, what: string): void {
  say()
  say(`${strong(name.padEnd(12))} ${what}`)
}

export function detail(text: string): void {
  say(text.replace(/^/gm, ' '.repeat(13)))
}

/** For what must not be overlooked. */
export function framed(lines: readonly string[]): void {
  const rule = soft('─'.repeat(76))
  say([rule, '', ...lines.map((line) => `   ${line}`), '', rule].join('\n'))
}

export function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}

/**
 * Text from an upstream or a user, as one line without control characters: a terminal would execute them, for example
 * to clear the screen.
 */
export function quoted(value: unknown, most = 100): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
