/** Formats the results as a table, for a terminal and as Markdown. */
import { mostRecoverySeconds } from './measure.ts'
import type { Result, Seen } from './measure.ts'

const head = ['Fault', 'Set-up', 'What callers saw', 'Longest wait', 'Recovery', 'Lost', 'Doubled']

export function cellsOf(result: Result): string[] {
  const { fault, setUp, callers, callersOfHost, recoverySeconds, lost, doubled, complaint, shortfall, note } = result
  const saw = [
    `${callersOfHost ? 'others: ' : ''}${inWords(callers)}`,
    ...(callersOfHost ? [`its callers: ${inWords(callersOfHost)}`] : []),
    ...(note === '' ? [] : [note]),
    ...(shortfall === '' ? [] : [shortfall]),
    ...(complaint === '' ? [] : ['`audit verify` failed']),
  ].join('; ')
  const recovery = recoverySeconds < 0.05 ? 'at once' : `${recoverySeconds.toFixed(1)} s`
  return [fault.name, setUp.kind, saw, `${(callers.longestMs / 1000).toFixed(1)} s`, recovery, `${lost}`, `${doubled}`]
}

function inWords({ calls, failed, failures }: Seen): string {
  if (failed === 0) return `all ${calls} calls served`
  const codes = Object.entries(failures).map(([code, count]) => `${count} × ${code}`)
  return `${failed} of ${calls} calls failed (${codes.join(', ')})`
}

export function table(results: Result[]): string {
  const rows = [head, ...results.map(cellsOf)]
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row, index) => {
    const mark = index === 0 ? '' : results[index - 1]?.isMet ? 'met' : 'NOT MET'
    return [...row.map((cell, column) => cell.padEnd(widths[column] ?? 0)), mark].join('  ').trimEnd()
  })
  const goals = `Goals: recovery under ${mostRecoverySeconds} s, nothing lost, nothing doubled, the record verifies.`
  return [lines[0], widths.map((width) => '─'.repeat(width)).join('  '), ...lines.slice(1), '', goals].join('\n')
}

export function markdown(results: Result[]): string {
  const rows = [head, head.map(() => '---'), ...results.map(cellsOf)]
  return `${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`
}
