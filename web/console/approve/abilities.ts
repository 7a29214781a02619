/**
 * What a grant can do, in the provider's own terms: "read your mail and send mail as you". Never less than its terms
 * allow: if they reach further than what is known of the provider, general words cover all of it. "Delete" is said of
 * the method DELETE alone, and that nothing can be deleted only where the service ensures it.
 */
import type { Ability } from '@sallyport/protocol/abilities'
import { accessClasses } from '@sallyport/protocol/grant-terms'
import type { AccessClass, MaxAccess } from '@sallyport/protocol/grant-terms'
import { isBelow, isReading, isWildcard } from './reach.ts'

export interface Reach {
  hosts: readonly string[]
  /** Null for any. */
  methods: readonly string[] | null
  paths: readonly string[] | null
  maxAccess: MaxAccess | null
}

export interface Target {
  /** Empty for a provider that nothing is known of. */
  abilities: readonly Ability[]
  /** Those of the account. Null or empty if they are not known. */
  scopes?: readonly string[] | null
}

export type Verbs = ReadonlySet<AccessClass>

/** Which classes of calls the terms allow. A POST of a GraphQL API may only read. */
export function verbsOf({ methods, maxAccess }: Pick<Reach, 'methods' | 'maxAccess'>): Verbs {
  const some = (test: (method: string) => boolean) => methods === null || methods.some(test)
  const able: Record<AccessClass, boolean> = {
    read: some(isReading) || maxAccess === 'read',
    write: maxAccess !== 'read' && some((method) => !isReading(method) && method !== 'DELETE'),
    destructive: maxAccess === null && some((method) => method === 'DELETE'),
  }
  return new Set(accessClasses.filter((access) => able[access]))
}

const lists = new Intl.ListFormat('en', { type: 'conjunction' })

export function onlyReads(verbs: Verbs): boolean {
  return !verbs.has('write') && !verbs.has('destructive')
}

/** "read and change": for a provider or paths that nothing is known of. */
export function generalVerbs(verbs: Verbs): string {
  const said = { read: 'read', write: 'change', destructive: 'delete' }
  return lists.format([...verbs].map((access) => said[access]))
}

export interface Able {
  text: string
  /** How the account is joined to it: "data in your account", "send mail with your account". */
  joint: 'in' | 'with'
  /** Some of what general words stand for, as the end of the sentence. */
  such: string
}

export function canDo(reach: Reach, { abilities, scopes }: Target): Able {
  const verbs = verbsOf(reach)
  const possible = abilities.filter((ability) => isPossible(ability, reach, verbs, scopes ?? []))
  const known = possible.filter((ability) => placesOf(reach).some((place) => isMeant(ability, place, possible)))
  if (known.length > 0 && isAllKnown(reach, verbs, abilities)) return { text: listed(known), joint: 'with', such: '' }
  const general = generalVerbs(verbs)
  if (reach.paths !== null) return { text: `${general} data`, joint: 'in', such: '' }
  const such = [...new Set(known.flatMap(({ what, only }) => (only ? [] : what.replace(/^your /, ''))))].slice(0, 3)
  return { text: `${general} anything`, joint: 'in', such: such.length > 0 ? `, such as ${lists.format(such)}` : '' }
}

/** What the service rules out, if anything. */
export function cannotDo(reach: Reach, { abilities }: Pick<Target, 'abilities'>): string | undefined {
  const verbs = verbsOf(reach)
  if (onlyReads(verbs)) return 'It can’t change or delete anything.'
  if (reach.maxAccess === 'write') return 'It can’t delete anything.'
  const only = abilities.filter((one) => one.only === true && one.access !== 'destructive')
  const isHarmless =
    !verbs.has('destructive') && placesOf(reach).every((place) => only.some((one) => isWithin(place, one)))
  return isHarmless ? 'It can’t delete anything.' : undefined
}

interface Place {
  host: string
  path: string
}

function placesOf({ hosts, paths }: Reach): Place[] {
  return hosts.flatMap((host) => (paths ?? ['/']).map((path) => ({ host, path })))
}

function isWithin({ host, path }: Place, ability: Ability): boolean {
  return ability.host === host && isBelow(ability.path, path)
}

function overlaps({ host, path }: Place, ability: Ability): boolean {
  const isHost = host === ability.host || (isWildcard(host) && ability.host.endsWith(host.slice(1)))
  return isHost && (isBelow(ability.path, path) || isBelow(path, ability.path))
}

function isPossible(ability: Ability, reach: Reach, verbs: Verbs, scopes: readonly string[]): boolean {
  const { methods, access, scopes: needed } = ability
  const isMethod = methods
    ? reach.methods === null || methods.some((method) => reach.methods?.includes(method))
    : verbs.has(access)
  const isAllowed = reach.maxAccess === null || access === 'read' || (access === 'write' && reach.maxAccess === 'write')
  const isScope = !needed || scopes.length === 0 || needed.some((scope) => scopes.includes(scope))
  return isMethod && isAllowed && isScope
}

/** Of several that a place is within, the narrowest says best what is done there. */
function isMeant(ability: Ability, place: Place, possible: readonly Ability[]): boolean {
  if (!overlaps(place, ability)) return false
  if (!isWithin(place, ability)) return true
  return !possible.some(
    (other) =>
      isWithin(place, other) &&
      other.path.length > ability.path.length &&
      (other.access === ability.access || other.only === true),
  )
}

/** Whether all that the terms allow has words of its own. */
function isAllKnown(reach: Reach, verbs: Verbs, abilities: readonly Ability[]): boolean {
  return placesOf(reach).every((place) => {
    const here = abilities.filter((ability) => isWithin(place, ability))
    // What does nothing else needs no words for other classes: calls of those fail.
    return here.some(({ only }) => only) || [...verbs].every((access) => here.some((one) => one.access === access))
  })
}

const most = 4

/** "read your mail and calendars, and delete your mail": one verb for all that it is done to. */
function listed(known: readonly Ability[]): string {
  const byVerb = new Map<string, Set<string>>()
  for (const { does, what } of known) byVerb.set(does, (byVerb.get(does) ?? new Set()).add(what))
  const same = new Map<string, string[]>()
  for (const [does, whats] of byVerb) {
    const objects = lists.format(short([...whats]))
    same.set(objects, [...(same.get(objects) ?? []), does])
  }
  return lists.format([...same].map(([objects, verbs]) => `${lists.format(verbs)} ${objects}`))
}

function short(whats: readonly string[]): string[] {
  const shown = whats.length > most ? [...whats.slice(0, most), 'more'] : [...whats]
  // "your mail and calendars"
  return shown.map((what, index) => (index > 0 && shown[0]?.startsWith('your ') ? what.replace(/^your /, '') : what))
}
