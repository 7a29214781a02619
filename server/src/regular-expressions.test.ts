/**
 * No regular expression of the product takes more than linear time for any text: who can choose the text could stop the
 * event loop with it. Each is tried with texts that are made to be slow for it (testkit/regexp-attacks.ts).
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import Fastify from 'fastify'
import ts from 'typescript'
import { countSteps } from '../testkit/counting-matcher.ts'
import type { Expression } from '../testkit/counting-matcher.ts'
import { attacksOn, findSlowText, pumped } from '../testkit/regexp-attacks.ts'

const root = resolve(import.meta.dirname, '../..')
const folders = ['server/src', 'protocol/src', 'sdk/src', 'cli/src', 'web', 'scripts', 'demo']

interface Found extends Expression {
  /** `file:line` */
  place: string
}

const { literals, built } = readSources()

function readSources() {
  const literals: Found[] = []
  const built: { file: string; place: string }[] = []
  for (const file of folders.flatMap(sourceFiles)) {
    const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest)
    const visit = (node: ts.Node): void => {
      const place = `${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`
      if (ts.isRegularExpressionLiteral(node)) literals.push({ place, ...partsOf(node.text) })
      const isCall = ts.isNewExpression(node) || ts.isCallExpression(node)
      if (isCall && node.expression.getText(source) === 'RegExp') built.push({ file, place })
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return { literals, built }
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|mjs)$/.test(name) && !/\.test\.ts$|(?:^|\/)(?:dist|node_modules)\//.test(name))
    .map((name) => `${folder}/${name}`)
}

function partsOf(literal: string): Expression {
  const end = literal.lastIndexOf('/')
  return { source: literal.slice(1, end), flags: literal.slice(end + 1) }
}

function slowOnes(expressions: Found[]): string[] {
  const seen = new Set<string>()
  return expressions.flatMap((expression) => {
    const key = `/${expression.source}/${expression.flags}`
    if (seen.size === seen.add(key).size) return []
    const slow = findSlowText(expression)
    return slow ? [`${expression.place}  ${key.slice(0, 200)}  ${JSON.stringify(slow)}`] : []
  })
}

test('regular expressions that are known to be slow are found', () => {
  const slow = [
    /(?:a+)+$/,
    /(?:a|a)*$/,
    /(?:a|ab|b)*c$/,
    /\s*x/,
    /\s+$/,
    /\/+$/,
    /^\s*(?:identity)?\s*$/i,
    /\\+u00/,
    /<!--.*?-->/,
    /^a:\/*.*(?:\/.*)?$/,
    /;name=\s*["']?[\s+]*(?:_method|_verb)/g,
    /(?=.*a.*b)c/,
    /a(?=.*b)/g,
    /(?<!\s+)x/,
    /^(\w+\s?)*$/,
  ]
  for (const { source, flags } of slow) assert.notEqual(findSlowText({ source, flags }), undefined, source)
})

test('linear ones are not', () => {
  for (const { source, flags } of [/^\s*x/, /a+/g, /\w+/, /"[^"]*"/g, /^(?:a|b)*$/, /%[0-9a-f]{2}/gi, /^[^?]*\\/]) {
    assert.equal(findSlowText({ source, flags }), undefined, source)
  }
})

test('no literal of the product is slow', () => {
  assert.ok(literals.length > 200, `only ${literals.length} were found`)
  assert.deepEqual(slowOnes(literals), [])
})

/** For those that are built in a function: what has to be called. */
const builders = {
  credentialFields: async () => {
    const { textNamesCredentialField } = await import('./providers/presets/credential-fields.ts')
    const { presets } = await import('./providers/presets/catalogue.ts')
    for (const { credentialFields } of presets) textNamesCredentialField(credentialFields ?? [], '')
  },
  unknownRoutes: async () => {
    const { answerUnknownRoutes } = await import('./platform/http/unknown-routes.ts')
    const http = Fastify()
    answerUnknownRoutes(http)
    for (const url of ['/v4/grants/:grant_id/revoke', '/v4/a/:b/c/:d', '/assets/*']) http.get(url, () => '')
    await http.inject({ method: 'POST', url: '/v4/nothing' })
  },
}

test('no pattern that is built at run time is slow', async (t) => {
  const { recorded, restore } = recordBuilt()
  t.after(restore)
  for (const { file } of built) await import(join(root, file))
  for (const build of Object.values(builders)) await build()
  restore()
  const places = new Set(recorded.map(({ place }) => place))
  assert.deepEqual(
    built.map(({ place }) => place).filter((place) => !places.has(place)),
    [],
    'these were not built here: add what has to be called to `builders`',
  )
  assert.deepEqual(slowOnes(recorded), [])
})

/** Every call of the constructor in our own sources, from now on. */
function recordBuilt() {
  const recorded: Found[] = []
  const original = globalThis.RegExp
  const record = (built: RegExp): RegExp => {
    const { stack = '' } = new Error()
    const frame = stack.split('\n').find((line) => line.includes(root) && !/node_modules|\.test\.ts/.test(line)) ?? ''
    const [, place] = /([^/]*\/[^:]*:\d+):\d+\)?$/.exec(frame.slice(frame.indexOf(root) + root.length + 1)) ?? []
    if (place !== undefined) recorded.push({ place, source: built.source, flags: built.flags })
    return built
  }
  globalThis.RegExp = new Proxy(original, {
    construct: (target, args: [string, string]) => record(Reflect.construct(target, args)),
    apply: (target, _this, args: [string, string]) => record(target(...args)),
  })
  return { recorded, restore: () => (globalThis.RegExp = original) }
}

test('no pattern in a schema is slow', async () => {
  const patterns = new Map<string, string>()
  for (const file of sourceFiles('protocol/src')) collectPatterns(await import(join(root, file)), file, patterns)
  assert.ok(patterns.size > 10)
  // What checks bodies compiles them with this flag.
  assert.deepEqual(slowOnes([...patterns].map(([source, place]) => ({ source, place, flags: 'u' }))), [])
})

function collectPatterns(
  value: unknown,
  place: string,
  patterns: Map<string, string>,
  seen = new Set<unknown>(),
): void {
  if (typeof value !== 'object' || value === null || seen.size === seen.add(value).size) return
  if ('pattern' in value && typeof value.pattern === 'string') patterns.set(value.pattern, place)
  for (const member of Object.values(value)) collectPatterns(member, place, patterns, seen)
}

test('steps are counted along the paths that the engine takes', () => {
  for (const expression of literals) {
    const count = countSteps(expression)
    const regexp = new RegExp(expression.source, expression.flags.replace(/[gy]/g, ''))
    for (const attack of attacksOn(expression).slice(0, 30)) {
      const text = pumped(attack, 9)
      const { index } = count(text, 100_000)
      // Bounds of more than eight are counted as eight.
      if (/\{\d{1,}(?:,\d*)?\}/.test(expression.source)) continue
      assert.equal(index, regexp.exec(text)?.index ?? -1, `${expression.place} ${JSON.stringify(text)}`)
    }
  }
})
