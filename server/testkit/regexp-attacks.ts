/**
 * Finds texts for which a regular expression takes more than linear time. The texts are made from the pattern: a prefix
 * that leads to a quantifier, something it repeats many times, and a suffix that fails.
 */
import type { AST } from '@eslint-community/regexpp'
import { boundsOf, characterTest, countSteps, parse } from './counting-matcher.ts'
import type { Expression } from './counting-matcher.ts'

export interface Attack {
  prefix: string
  pump: string
  suffix: string
}

/** Characters to try for classes, besides those of the pattern itself. */
const usualCharacters = Array.from(' \t\r\naA0_-.,;:/\\"\'%&=+*?#<>[]{}()|@!$~é\u00a0\u2028\u0000\u0001')
const mostPumps = 24
const few = 32
const many = 256
/** Eight times the text takes eight times the steps where that is linear, sixty-four times where it is quadratic. */
const linearGrowth = 16

/** Undefined if every tried text takes linear time. */
export function findSlowText(expression: Expression): Attack | undefined {
  const count = countSteps(expression)
  return attacksOn(expression).find((attack) => {
    const { steps, index } = count(pumped(attack, few), 50 * few * few)
    if (index === undefined) return true
    if (steps < (few * few) / 2) return false
    return count(pumped(attack, many), linearGrowth * steps).index === undefined
  })
}

export function pumped({ prefix, pump, suffix }: Attack, times: number): string {
  return prefix + pump.repeat(times) + suffix
}

export function attacksOn(expression: Expression): Attack[] {
  const sampler = samplerOf(expression)
  const attacks = new Map<string, Attack>()
  for (const { quantifier, before, after } of quantifiersIn(parse(expression))) {
    const leading = before.map(sampler.shortest).join('')
    const pumps = sampler.samples(quantifier.element).slice(0, mostPumps)
    // The prefix repeated: each occurrence is a new attempt.
    const starts = leading === '' ? [] : [leading, leading + (pumps[0] ?? '')]
    const fails = sampler.characterBeside(quantifier.element)
    const following = after.map((node) => sampler.samples(node)[0] ?? '')
    for (const pump of new Set([...pumps, ...starts].filter((text) => text !== ''))) {
      for (const prefix of new Set(['', leading])) {
        for (const suffix of new Set([
          '',
          fails,
          '\n\u0001',
          `${following[0] ?? ''}\u0001`,
          `${following.join('')}\n\u0001`,
        ])) {
          attacks.set(JSON.stringify([prefix, pump, suffix]), { prefix, pump, suffix })
        }
      }
    }
  }
  return [...attacks.values()]
}

interface FoundQuantifier {
  quantifier: AST.Quantifier
  /** A text that matches everything before it. */
  before: AST.Element[]
  after: AST.Element[]
}

function quantifiersIn(pattern: AST.Pattern): FoundQuantifier[] {
  const found: FoundQuantifier[] = []
  const walk = (alternatives: AST.Alternative[], before: AST.Element[]) => {
    for (const { elements } of alternatives) {
      elements.forEach((element, at) => {
        const here = [...before, ...elements.slice(0, at)]
        const isLoop = element.type === 'Quantifier' && boundsOf(element).max === Infinity
        if (isLoop) found.push({ quantifier: element, before: here, after: elements.slice(at + 1) })
        const inner = element.type === 'Quantifier' ? element.element : element
        if ('alternatives' in inner) walk(inner.alternatives, here)
      })
    }
  }
  walk(pattern.alternatives, [])
  return found
}

function samplerOf({ source, flags }: Expression) {
  const characters = [...new Set([...Array.from(source), ...usualCharacters])]
  const isMatched = characterTest(flags)
  /** Texts that the node matches, several if it has alternatives. */
  const samples = (node: AST.Element): string[] => {
    switch (node.type) {
      case 'Character':
        return [String.fromCodePoint(node.value)]
      case 'CharacterClass':
      case 'CharacterSet':
        return characters.filter((one) => isMatched(node, one))
      case 'Group':
      case 'CapturingGroup': {
        const each = node.alternatives.flatMap(({ elements }) => samplesOfAll(elements))
        // Two alternatives in a row, which a third one may match together.
        return [...new Set([...each, each.slice(0, 2).join('')])]
      }
      case 'Quantifier': {
        const { min } = boundsOf(node)
        const each = samples(node.element)
        return min > 0 ? each.map((text) => text.repeat(min)) : [...each, '']
      }
      default:
        return ['']
    }
  }
  const shortest = (node: AST.Element): string =>
    node.type === 'Quantifier' && node.min === 0 ? '' : (samples(node)[0] ?? '')
  /** Varies one node at a time, with the shortest text for the others. */
  const samplesOfAll = (nodes: AST.Element[]): string[] => {
    const least = nodes.map(shortest)
    const varied = nodes.flatMap((node, at) =>
      samples(node)
        .slice(0, 6)
        .map((way) => [...least.slice(0, at), way, ...least.slice(at + 1)].join('')),
    )
    return [...new Set([least.join(''), ...varied])]
  }
  const characterBeside = (node: AST.Element): string => {
    const inner = new Set(samples(node).flatMap((text) => Array.from(text)))
    return characters.find((one) => !inner.has(one)) ?? '\u0001'
  }
  return { samples, shortest, characterBeside }
}
