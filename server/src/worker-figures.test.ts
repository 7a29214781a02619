import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatherFigures } from './worker-figures.ts'
import type { ToWorker } from './worker-link.ts'

function crewOf(...names: string[]) {
  const told: [string, ToWorker][] = []
  const figures = gatherFigures<string>({ workers: () => names, tell: (name, message) => told.push([name, message]) })
  const answer = (name: string) => {
    figures.take(name, { kind: 'figures', round: 1, figures: [] })
  }
  return { told, figures, answer }
}

const wanted: ToWorker = { kind: 'figures wanted', round: 1 }

test('all workers are asked, and the result comes when the last has responded', () => {
  const { told, figures, answer } = crewOf('one', 'two')
  figures.take('two', { kind: 'all figures wanted', question: 7 })
  assert.deepEqual(told.splice(0), [
    ['one', wanted],
    ['two', wanted],
  ])
  answer('two')
  answer('two')
  assert.deepEqual(told, [])
  answer('one')
  assert.deepEqual(told, [['two', { kind: 'all figures', question: 7, all: [[], []] }]])
})

test('workers that have exited are neither waited for nor sent results', () => {
  const { told, figures, answer } = crewOf('one', 'two')
  figures.take('one', { kind: 'all figures wanted', question: 1 })
  answer('one')
  figures.leave('two')
  assert.deepEqual(told.splice(2), [['one', { kind: 'all figures', question: 1, all: [[]] }]])
  figures.take('two', { kind: 'all figures wanted', question: 1 })
  figures.leave('two')
  figures.take('one', { kind: 'figures', round: 2, figures: [] })
  assert.deepEqual(
    told.filter(([name, { kind }]) => name === 'two' && kind === 'all figures'),
    [],
  )
})
