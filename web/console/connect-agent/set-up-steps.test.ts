import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { clients, isClient, stepsFor } from './set-up-steps.ts'
import type { Client } from './set-up-steps.ts'

const base = 'https://sallyport.example'
const all = (Object.keys(clients) as Client[]).map((client) => ({ client, steps: stepsFor(client, base) }))
const docs = ['SKILL.md', 'docs/cli.md', 'docs/gateway.md', 'docs/mcp.md', 'docs/sdk.md']
  .map((file) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'))
  .join('\n')

test('each client has one to three steps, with the address of this service and no credential', () => {
  for (const { client, steps } of all) {
    assert.ok(steps.length >= 1 && steps.length <= 3, client)
    assert.equal(new Set(steps.map(({ title }) => title)).size, steps.length, client)
    const text = steps.map((step) => step.text).join('\n')
    assert.ok(text.includes(base), client)
    assert.doesNotMatch(text, /localhost|sp_(?:agent|admin|login|session)_/, client)
  }
})

test('clients that share a machine do not share an agent', () => {
  const profiles = all.flatMap(({ steps }) =>
    steps.flatMap(({ text }) => /register .* --profile (\S+)/.exec(text)?.[1] ?? []),
  )
  assert.equal(profiles.length, 6)
  assert.equal(new Set(profiles).size, 6)
  for (const { client, steps } of all.filter(({ steps: [first] }) => first?.title === 'Install the command line')) {
    assert.match(steps.at(-1)?.text ?? '', new RegExp(`--profile(?: |", ")${client}\\b`))
  }
})

test('the documentation has the same commands', () => {
  const known = (text: string) => docs.includes(text.replaceAll(base, 'http://localhost:8787'))
  assert.ok(known(stepsFor('run', base)[0]?.text ?? 'none'))
  assert.ok(known(stepsFor('curl', base)[1]?.text ?? 'none'))
  for (const { text } of stepsFor('sdk', base)) {
    for (const line of text.split('\n')) assert.ok(known(line), line)
  }
})

test('a client of the address is one of the list', () => {
  assert.equal(isClient('cursor'), true)
  for (const name of [null, '', 'toString', 'Cursor']) assert.equal(isClient(name), false)
})
