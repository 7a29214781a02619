/** The documentation names only files, functions, settings, commands, endpoints and members that exist. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')
const notOurs = /(?:^|\/)(?:node_modules|dist|data|\.\w[^/]*)(?:\/|$)/

function listBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (notOurs.test(path)) return []
    return entry.isDirectory() ? [`${path}/`, ...listBelow(path)] : [path]
  })
}

const paths = listBelow('')
// CHANGELOG.md tells of names that are gone, and docs/spec/ is the contract.
const pages = paths
  .filter((path) => /^(?:docs\/.+|[^/]+)\.md$/.test(path) && !/^(?:CHANGELOG\.md$|docs\/spec\/)/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const sources = paths
  .filter((path) => /\.(?:tsx?|mjs|py)$/.test(path) && !path.endsWith('docs-names.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const wordsIn = (texts: { text: string }[]) => new Set(texts.flatMap(({ text }) => text.match(/\w+/g) ?? []))
const allWords = wordsIn(sources)
const productWords = wordsIn(sources.filter(({ path }) => !path.endsWith('.test.ts')))

interface Named {
  page: string
  name: string
}

/** What stands in backticks, beside the code blocks. */
const inBackticks: Named[] = pages.flatMap(({ path, text }) =>
  [...text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => ({
    page: path,
    name,
  })),
)

/** Every match of the pattern's group, in prose and in code blocks. */
function named(pattern: RegExp): Named[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([, name = '']) => ({ page: path, name: name.replaceAll(/\s+/g, ' ').trim() })),
  )
}

function assertAllExist(all: Named[], exists: (name: string, page: string) => boolean, fewest: number): void {
  assert.ok(all.length >= fewest, `${all.length} found`)
  const missing = all.filter(({ name, page }) => !exists(name, page))
  assert.deepEqual([...new Set(missing.map(({ page, name }) => `${page} names ${name}`))], [])
}

test('every file and folder that the documentation names exists', () => {
  const isFile = /^(?!\/)(?:[\w.*-]+\/)*[\w.*-]+\.(?:tsx?|mjs|md)$|^(?:[\w.-]+\/)+(?:[\w.-]+\*)?$/
  const files = inBackticks.filter(({ name }) => isFile.test(name) && !notOurs.test(name))
  assertAllExist(
    files,
    (name) => {
      const pattern = new RegExp(`(?:^|/)${name.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`)
      return paths.some((path) => pattern.test(path))
    },
    100,
  )
})

test('every link in the documentation leads to a file', () => {
  assertAllExist(
    named(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g),
    (name, page) => existsSync(join(root, dirname(page), name)),
    30,
  )
})

test('every function, class and member that the documentation names exists', () => {
  const pattern = /^\.?(?:\w+\.)*([A-Za-z]\w*)\(|^(?:\w+\.)*([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[a-z]+(?:_[a-z0-9]+)+)$/
  const words = inBackticks.flatMap(({ page, name }) => {
    const [, called, word = called] = pattern.exec(name) ?? []
    return word === undefined ? [] : [{ page, name: word }]
  })
  assertAllExist(words, (name) => allWords.has(name), 100)
})

test('every setting that the documentation names exists', () => {
  assertAllExist(
    named(/\b(SALLYPORT_[A-Z0-9_]+[A-Z0-9])\b/g),
    (name) => productWords.has(name) || productWords.has(name.replace(/_(?:FILE|COMMAND)$/, '')),
    50,
  )
})

test('every command that the documentation names exists', () => {
  const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
  const ofServer = [...textOf('server/src/commands/command-line.ts').matchAll(/words: \[(.*)\]/g)].map(
    ([, words = '']) => `sallyport-server ${words.replaceAll(/[',]/g, '')}`,
  )
  const ofAgents = sources
    .filter(({ path }) => path.startsWith('cli/src/commands/'))
    .flatMap(({ text }) => [...text.matchAll(/^ {2}name: '([a-z -]+)'/gm)].map(([, name = '']) => `sallyport ${name}`))
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: object }
  const ofNpm = Object.keys(scripts).map((name) => `npm run ${name}`)
  const commands = [...ofServer, ...ofAgents, ...ofNpm]
  assert.ok(ofServer.length > 5 && ofAgents.length > 15)
  assertAllExist(
    named(/(?:^|[`$(|&] ?)((?:npx )?sallyport(?:-server)? [a-z][\w -]*|npm run [\w:]+)/gm),
    (name) => {
      const words = name.replace('npx ', '').split(' ')
      const begun = commands.filter((one) => one.split(' ')[1] === words[1] && one.split(' ')[0] === words[0])
      return begun.some((one) => {
        const own = one.split(' ')
        return own.every((word, index) => word === words[index]) || (words.length === 2 && own.length > 2)
      })
    },
    20,
  )
})

test('every endpoint that the documentation names is served', () => {
  const coverage = readFileSync(join(root, 'e2e/spec-coverage.md'), 'utf8')
  const served = [...coverage.matchAll(/^\| ([A-Z, ]+) (\/v\d\S+) /gm)].flatMap(([, methods = '', path = '']) =>
    methods.split(', ').map((method) => `${method} ${path}`),
  )
  assertAllExist(
    inBackticks
      .filter(({ name }) => /^[A-Z]+ \/v\d/.test(name))
      .map(({ page, name }) => ({ page, name: name.split(/[ ?]/).slice(0, 2).join(' ') })),
    (name) => served.includes(name),
    20,
  )
})
