/**
 * Whether a slug or name could be mistaken for a preset's. It is applied to proposals of unknown agents, so it refuses
 * when in doubt. An admin can still choose any name.
 */
import { presets } from './catalogue.ts'
import type { Preset } from './preset.ts'
import { folded, readings } from './skeleton.ts'

const maxLength = 200

/** Words that add nothing to a name: people recognize a provider by the rest. */
const decorations = [
  'official|login|logon|log|signin|signon|sign|in|on|with|via|for|from|by|to|the|my|our|your|a|and|of',
  'auth|oauth|sso|oidc|openid|connect|connector|connection|connected|account|accounts|api|apis|app|apps|application',
  'client|integration|provider|service|services|server|cloud|com|net|org|io|co|dev|inc|ltd|llc|gmbh|corp',
  'team|support|help|security|secure|verified|verify|trusted|real|true|original|new|beta|test|demo|pro|plus|premium',
  'enterprise|business|online|web|www|mcp|bot|agent|ai|id|identity|access|token|tokens|hq|us|eu|prod|production',
]
  .join('|')
  .split('|')
  .map(folded)

const isDecoration = new Set(decorations)

interface Target {
  preset: Preset
  text: string
  mayHaveTypo: boolean
}

// Words of two letters are too often the end of another word: `notional` is not `notion` and `ai` (`i` is folded to
// `l`).
const ornaments = ['my', ...decorations.filter((word) => word.length > 2)]
const maxOrnaments = 4
const targets: Target[] = presets.flatMap((preset) => [
  ...[preset.id, preset.name].flatMap((name) => targetsOf(preset, name, 5)),
  // Short names are one letter away from other words: `Email` is not `Gmail`.
  ...(preset.otherNames ?? []).flatMap((name) => targetsOf(preset, name, 6)),
])

function targetsOf(preset: Preset, name: string, fromLength: number): Target[] {
  const texts = new Set(readings(name).map((words) => words.join('')))
  return [...texts]
    .filter((text) => text.length > 2)
    .map((text) => ({
      preset,
      text,
      mayHaveTypo: text.length >= fromLength,
    }))
}

export function resemblesPreset(text: string): Preset | undefined {
  const lower = text.toLowerCase()
  const isIt = (name: string) => name.toLowerCase() === lower
  // Some have the name of another one, and a decoration.
  const exact = presets.find(({ id, name, otherNames = [] }) => [id, name, ...otherNames].some(isIt))
  if (exact) return exact
  const all = readings(text.slice(0, maxLength))
  return targets.find((target) => all.some((words) => resembles(words, target)))?.preset
}

function resembles(words: string[], { text, mayHaveTypo }: Target): boolean {
  const core = words.filter((word) => !isDecoration.has(word)).join('')
  const isLong = text.length >= 6
  if (mayHaveTypo && (isLong || core[0] === text[0]) && isWithinOneEdit(core, text)) return true
  if (words.some((word) => isDecorated(word, text) || matchesUnknownLetters(word, text))) return true
  // Few words are one letter away from a long name, so such a word among others is no coincidence.
  return runsOf(words, text.length + 1).some(
    (run) => run === text || (isLong && run[0] === text[0] && isWithinOneEdit(run, text)),
  )
}

/** The name with decorations attached to it: `loginwithgithub`. */
function isDecorated(word: string, text: string): boolean {
  for (let at = word.indexOf(text); at >= 0; at = word.indexOf(text, at + 1)) {
    if (isMadeOfOrnaments(word.slice(0, at)) && isMadeOfOrnaments(word.slice(at + text.length))) return true
  }
  return false
}

function isMadeOfOrnaments(text: string, most = maxOrnaments): boolean {
  if (text === '') return true
  if (most === 0) return false
  return ornaments.some((word) => text.startsWith(word) && isMadeOfOrnaments(text.slice(word.length), most - 1))
}

/** No table has every character that looks like a letter: among Latin letters, an unknown one matches any letter. */
function matchesUnknownLetters(word: string, text: string): boolean {
  const letters = Array.from(word)
  const known = letters.filter((letter) => letter <= '\u007f').length
  if (letters.length !== text.length || known * 2 < letters.length) return false
  return letters.every((letter, at) => letter > '\u007f' || letter === text[at])
}

/** Adjacent words written as one: `git hub` is `github`. */
function runsOf(words: string[], maxRun: number): string[] {
  return words.flatMap((_word, from) => {
    const runs: string[] = []
    let run = ''
    for (const word of words.slice(from)) {
      run += word
      if (run.length > maxRun) break
      runs.push(run)
    }
    return runs
  })
}

/** Equal, or one letter inserted, deleted or replaced, or two adjacent letters swapped. */
function isWithinOneEdit(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (long.length - short.length > 1) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  if (short.slice(at) === long.slice(at + 1)) return true
  if (short.slice(at + 1) === long.slice(at + 1)) return true
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
}
