/** How the sentences of an API are found: the first route that the call matches says it. */
import { segmentsOf } from './call-content.ts'
import type { Members } from './call-content.ts'
import type { Detail, SummarisedCall } from './summary.ts'
import { quotedName, shownValue } from './visible-text.ts'

/** What a route says of a call. */
export interface Said {
  sentence: string
  details?: Detail[]
  /** Members of the body that sentence and details contain completely. All others become details. */
  covers?: readonly string[]
  /** See `Summary.repeatScope`. Missing: it can't be repeated. */
  repeats?: string | undefined
}

export interface Route {
  method: string
  /** `*` is a segment, `#` a number, a `**` at the end all that follows. */
  path: string
  /** `names`: the segments that the stars stand for. Undefined: the body can be read in several ways. */
  say: (names: string[], members: Members, call: SummarisedCall) => Said | undefined
}

/** A segment that is the same for all servers: nothing to decode, to trim or to split. */
const plainSegment = /^[\w.@+=:-]{1,400}$/
const number = /^\d{1,20}$/

/** Undefined if the call's path is not the route's. */
export function namesAt(route: string, url: URL): string[] | undefined {
  const segments = segmentsOf(url)
  const wanted = route.slice(1).split('/')
  const takesRest = wanted.at(-1) === '**'
  if (takesRest) wanted.pop()
  if (!segments || (takesRest ? segments.length <= wanted.length : segments.length !== wanted.length)) return undefined
  const names: string[] = []
  for (const [index, part] of wanted.entries()) {
    const segment = segments[index] ?? ''
    if (part === '*' || part === '#') {
      if (!(part === '*' ? plainSegment : number).test(segment)) return undefined
      names.push(segment)
    } else if (part !== segment) return undefined
  }
  return takesRest ? [...names, segments.slice(wanted.length).join('/')] : names
}

const mostDetails = 40
const longestValue = 500

/** Members that the sentence leaves out. Their names are the agent's words too. */
export function otherMembers(members: Members, covers: readonly string[]): Detail[] {
  const others = [...members].filter(([name]) => !covers.includes(name))
  const shown = others.slice(0, mostDetails).map(([name, value]) => ({
    name: quotedName(name, 40),
    value: shownValue(typeof value === 'string' ? value : JSON.stringify(value), { length: longestValue }),
  }))
  const left = others.length - shown.length
  return left > 0 ? [...shown, { name: 'More', value: `${left} more members of the body` }] : shown
}

/** Text of several lines, for a detail. */
export function textDetail(name: string, text: string | undefined): Detail[] {
  return text === undefined ? [] : [{ name, value: shownValue(text, { length: 4000, hasLines: true }) }]
}

/** A scope has to name all of what must be equal, so one that had to be cut is none. */
export function scopeOf(what: string, names: readonly string[]): string | undefined {
  const shown = names.map((name) => quotedName(name))
  return shown.length === 0 || shown.length > 20 || shown.some((name) => !name.endsWith('”'))
    ? undefined
    : `${what} ${shown.join(', ')}`
}

/** For APIs whose paths name what is changed. */
export const samePath = 'the same path'
