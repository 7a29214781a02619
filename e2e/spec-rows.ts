/** The rows of spec-coverage.md: a rule of a contract, and the test for it. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Row {
  what: string
  file: string
  name: string
}

export const rows: Row[] = readFileSync(resolve(import.meta.dirname, 'spec-coverage.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|[\s-]*\|[\s-]*\|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, what = '', file = '', name = '']) => ({ what, file, name }))
  .filter(({ file }) => file !== 'file')
