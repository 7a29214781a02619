/** The code blocks of the documentation and of the SDK's comments. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '..')

export interface CodeBlock {
  /** From the repository's root. */
  file: string
  line: number
  language: string
  code: string
}

/** Every block with a language. Blocks without one are diagrams. */
export function codeBlocks(): CodeBlock[] {
  const pages = ['.', 'docs', 'docs/decisions', 'cli', 'sdk', 'server']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
    .filter((name) => name.endsWith('.md'))
    .flatMap((file) => blocksIn(file, readFileSync(join(root, file), 'utf8')))
  const comments = readdirSync(join(root, 'sdk/src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join('sdk/src', name))
    .flatMap((file) => blocksIn(file, readFileSync(join(root, file), 'utf8').replaceAll(/^ *\* ?/gm, '')))
  return [...pages, ...comments]
}

function blocksIn(file: string, text: string): CodeBlock[] {
  return [...text.matchAll(/^( *)```(\S*)[^\n]*\n([^]*?)^\1```$/gm)]
    .filter(([, , language]) => language !== '')
    .map(({ 2: language = '', 3: code = '', index }) => ({
      ...{ file, language, code },
      line: text.slice(0, index).split('\n').length,
    }))
}
