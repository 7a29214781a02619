/**
 * Matches a regular expression by backtracking, as V8 does, and counts the steps. A clock on a busy machine says little
 * about growth; steps are the same everywhere.
 */
import { RegExpParser } from '@eslint-community/regexpp'
import type { AST } from '@eslint-community/regexpp'

export interface Expression {
  source: string
  flags: string
}

export interface Counted {
  steps: number
  /** The index of the first match; -1 for none, undefined if the steps ran out. */
  index: number | undefined
}

/** A repetition limit above this counts as none, as it costs that much at every offset. Lower ones are scaled down. */
const highBound = 64
const smallBound = 8

type Then = (at: number) => boolean
type Match = (at: number, then: Then) => boolean

export function parse({ source, flags }: Expression): AST.Pattern {
  const unicodeSets = flags.includes('v')
  return new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.includes('u'), unicodeSets })
}

/** The repetition limits used here. */
export function boundsOf({ min, max }: AST.Quantifier): { min: number; max: number } {
  return { min: Math.min(min, smallBound), max: max > highBound ? Infinity : Math.min(max, smallBound) }
}

/** Whether one character is matched by a node for one character. */
export function characterTest(flags: string): (node: AST.Element, character: string) => boolean {
  const known = new Map<string, Map<string, boolean>>()
  const plainFlags = flags.replace(/[gyd]/g, '')
  return (node, character) => {
    const there = known.get(node.raw) ?? new Map<string, boolean>()
    known.set(node.raw, there)
    const answer = there.get(character) ?? new RegExp(`^(?:${node.raw})$`, plainFlags).test(character)
    there.set(character, answer)
    return answer
  }
}

class OutOfSteps extends Error {}

/** With `g` all matches are found, as in `matchAll` and `replace`. */
export function countSteps(expression: Expression): (text: string, mostSteps: number) => Counted {
  const { flags } = expression
  const pattern = parse(expression)
  const isMatched = characterTest(flags)
  let text: string[] = []
  let steps = 0
  let most = 0
  const captured = new Map<AST.CapturingGroup, [from: number, to: number]>()
  const step = () => {
    if (++steps > most) throw new OutOfSteps()
  }

  const isOneCharacter = ({ type }: AST.Element) =>
    type === 'Character' || type === 'CharacterSet' || type === 'CharacterClass'

  const readsOne = (node: AST.Element, at: number, back: boolean): boolean => {
    step()
    const character = text[back ? at - 1 : at]
    return character !== undefined && isMatched(node, character)
  }

  const inOrder = (elements: AST.Element[], back: boolean): Match => {
    const matches = elements.map((element) => matchOf(element, back))
    if (back) matches.reverse()
    const from = (index: number, at: number, then: Then): boolean => {
      const match = matches[index]
      return match ? match(at, (next) => from(index + 1, next, then)) : then(at)
    }
    return (at, then) => from(0, at, then)
  }

  const anyOf = (alternatives: AST.Alternative[], back: boolean): Match => {
    const matches = alternatives.map(({ elements }) => inOrder(elements, back))
    return (at, then) => matches.some((match) => match(at, then))
  }

  const matchOf = (node: AST.Element, back: boolean): Match => {
    switch (node.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return (at, then) => readsOne(node, at, back) && then(back ? at - 1 : at + 1)
      case 'Group':
        return anyOf(node.alternatives, back)
      case 'CapturingGroup': {
        const inner = anyOf(node.alternatives, back)
        return (at, then) =>
          inner(at, (to) => {
            const before = captured.get(node)
            captured.set(node, back ? [to, at] : [at, to])
            if (then(to)) return true
            if (before) captured.set(node, before)
            else captured.delete(node)
            return false
          })
      }
      case 'Backreference':
        return (at, then) => {
          const group = Array.isArray(node.resolved) ? node.resolved[0] : node.resolved
          const [from, to] = (group && captured.get(group)) ?? [0, 0]
          step()
          return text.slice(from, to).every((one, index) => text[at + index] === one) && then(at + to - from)
        }
      case 'Assertion':
        return assertion(node)
      case 'Quantifier':
        return isOneCharacter(node.element) ? run(node, back) : loop(node, back)
      default:
        throw new Error(`${node.type} is not counted yet`)
    }
  }

  const assertion = (node: AST.Assertion): Match => {
    if (node.kind === 'lookahead' || node.kind === 'lookbehind') {
      const inner = anyOf(node.alternatives, node.kind === 'lookbehind')
      return (at, then) => inner(at, () => true) !== node.negate && then(at)
    }
    return (at, then) => {
      step()
      return holdsAt(node, at) && then(at)
    }
  }

  const isWord = (at: number) => /^\w$/.test(text[at] ?? '')
  const isBreak = (at: number) => /^[\n\r\u2028\u2029]$/.test(text[at] ?? '')
  const holdsAt = (node: AST.EdgeAssertion | AST.WordBoundaryAssertion, at: number): boolean => {
    if (node.kind === 'word') return (isWord(at - 1) !== isWord(at)) !== node.negate
    const isMultiline = flags.includes('m')
    if (node.kind === 'start') return at === 0 || (isMultiline && isBreak(at - 1))
    return at === text.length || (isMultiline && isBreak(at))
  }

  /** A repetition of one character: counted first, so that a long one causes no deep recursion. */
  const run = (node: AST.Quantifier, back: boolean): Match => {
    const { min, max } = boundsOf(node)
    const direction = back ? -1 : 1
    return (start, then) => {
      let count = 0
      let at = start
      const reads = () => count < max && readsOne(node.element, at, back)
      if (node.greedy) {
        for (; reads(); count++) at += direction
        for (; count >= min; count--, at -= direction) if (then(at)) return true
        return false
      }
      for (; ; count++, at += direction) {
        if (count >= min && then(at)) return true
        if (!reads()) return false
      }
    }
  }

  const loop = (node: AST.Quantifier, back: boolean): Match => {
    const { min, max } = boundsOf(node)
    const inner = matchOf(node.element, back)
    const from = (count: number, at: number, then: Then): boolean => {
      step()
      // An empty repetition makes no progress.
      const again = () =>
        count < max && inner(at, (next) => (next !== at || count < min) && from(count + 1, next, then))
      if (count < min) return again()
      return node.greedy ? again() || then(at) : then(at) || again()
    }
    return (at, then) => from(0, at, then)
  }

  const whole = anyOf(pattern.alternatives, false)

  const matchFrom = (start: number): [from: number, to: number] | undefined => {
    for (let at = start; at <= text.length; at++) {
      let end = at
      step()
      if (whole(at, (to) => (end = to) >= 0)) return [at, end]
      if (flags.includes('y')) return undefined
    }
    return undefined
  }

  return (given, mostSteps) => {
    text = /[uv]/.test(flags) ? Array.from(given) : given.split('')
    steps = 0
    most = mostSteps
    captured.clear()
    try {
      const first = matchFrom(0)
      let last = first
      while (last && flags.includes('g')) last = matchFrom(last[1] > last[0] ? last[1] : last[1] + 1)
      return { steps, index: first?.[0] ?? -1 }
    } catch (error) {
      if (!(error instanceof OutOfSteps)) throw error
      return { steps, index: undefined }
    }
  }
}
