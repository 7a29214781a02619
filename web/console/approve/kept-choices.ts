/**
 * Keeps the choices of a request in this tab, so that a reload or the way through a provider's sign-in page loses none.
 * They are kept for one user. What is read back may be outdated or not ours, so only what is still offered is taken.
 */
import { useEffect, useState } from 'react'
import { actions, mostRules } from './exceptions.ts'
import type { Rule } from './exceptions.ts'
import { lastings, modes, offerOf } from './terms.ts'
import type { Asked, Choices } from './terms.ts'

/** `first`: the choices if there are none. `preferred`: an account that was just connected is taken in any case. */
export function useKeptChoices(key: string, asked: Asked, first: Choices) {
  const place = `choices ${key}`
  const [choices, setChoices] = useState<Choices>(() => {
    const kept = restored(read(place), asked, first)
    return first.account === '' ? kept : { ...kept, account: first.account }
  })
  useEffect(() => {
    write(place, JSON.stringify(choices))
  }, [place, choices])
  return [choices, setChoices] as const
}

/** As the first choices of a request that was not shown yet. */
export function keepChoices(key: string, choices: Choices): void {
  write(`choices ${key}`, JSON.stringify(choices))
}

export function forgetChoices(key: string): void {
  try {
    sessionStorage.removeItem(`choices ${key}`)
  } catch {
    // See write().
  }
}

function read(place: string): string | null {
  try {
    return sessionStorage.getItem(place)
  } catch {
    return null
  }
}

/** A browser may forbid it, or have no space left. Then a reload starts anew. */
function write(place: string, text: string): void {
  try {
    sessionStorage.setItem(place, text)
  } catch {
    // Nothing else depends on it.
  }
}

export function restored(text: string | null, asked: Asked, first: Choices): Choices {
  const kept = objectIn(text)
  if (!kept) return first
  const { hosts, eachMethod } = offerOf(asked)
  const word = (name: keyof Choices, longest: number) => {
    const value = kept[name]
    return typeof value === 'string' && value.length <= longest ? value : undefined
  }
  const oneOf = <Name extends string>(name: keyof Choices, offered: readonly Name[]) =>
    offered.find((one) => one === kept[name])
  const some = (name: keyof Choices, offered: readonly string[]) => {
    const value = kept[name]
    return Array.isArray(value) ? offered.filter((one) => value.includes(one)) : undefined
  }
  return {
    account: word('account', 100) ?? first.account,
    mode: oneOf('mode', Object.keys(modes) as Choices['mode'][]) ?? first.mode,
    exceptions: rulesIn(kept['exceptions']) ?? first.exceptions,
    hosts: some('hosts', hosts) ?? first.hosts,
    hostsBelow: word('hostsBelow', longestText) ?? first.hostsBelow,
    permissions: oneOf('permissions', ['asked', 'read', 'write', 'some']) ?? first.permissions,
    someMethods: some('someMethods', eachMethod) ?? first.someMethods,
    paths: oneOf('paths', ['asked', 'some']) ?? first.paths,
    somePaths: word('somePaths', longestText) ?? first.somePaths,
    lasting: oneOf('lasting', Object.keys(lastings) as Choices['lasting'][]) ?? first.lasting,
    date: word('date', 30) ?? first.date,
    calls: word('calls', 30) ?? first.calls,
  }
}

const longestText = 60_000

function objectIn(text: string | null): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function rulesIn(value: unknown): Rule[] | undefined {
  if (!Array.isArray(value) || value.length > mostRules) return undefined
  const rules = value.flatMap((one: unknown, index): Rule[] => {
    const { action, paths, methods } = (one ?? {}) as Partial<Record<keyof Rule, unknown>>
    const known = (Object.keys(actions) as Rule['action'][]).find((name) => name === action)
    const isWhole = known && typeof paths === 'string' && typeof methods === 'string'
    return isWhole ? [{ id: index + 1, action: known, paths, methods }] : []
  })
  // A rule that is lost would widen the grant.
  return rules.length === value.length ? rules : undefined
}
