/** Describes the chosen terms in plain language, and their risks. */
import type { AccessRequest, Grant } from '@sallyport/sdk'
import type { GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import { shortened } from '../../ui/others-text.ts'
import { count, listOf, listOfFew, theirs } from '../../ui/words.ts'
import type { Words } from '../../ui/words.ts'
import { canDo, cannotDo, generalVerbs, onlyReads, verbsOf } from './abilities.ts'
import type { Target } from './abilities.ts'
import { isWildcard } from './reach.ts'
import { exceptionsOf } from './exceptions.ts'
import { draftOf, isAccess, lastings } from './terms.ts'
import type { Account, Asked, Choices } from './terms.ts'

export interface Terms {
  hosts: readonly string[]
  /** Null for any. */
  methods: readonly string[] | null
  paths: readonly string[] | null
  calls: number | null
  lasting: string
  hasEnd: boolean
  mode: GrantMode
  exceptions: Grant['exceptions']
  /** Null for any. */
  maxAccess: MaxAccess | null
}

/** Of the choices as they are, right or wrong. */
export function termsOf(asked: Asked, choices: Choices, account: Account | undefined, now: number): Terms {
  const { hosts, methods, paths, until, calls } = draftOf(asked, choices, account, now)
  return {
    hosts,
    methods: methods ?? asked.methods,
    paths: paths ?? asked.paths,
    calls: /^\d+$/.test(calls) ? Number(calls) : asked.max_calls,
    lasting: until === undefined ? endless : `for ${lastings[choices.lasting]}`,
    hasEnd: until !== undefined,
    mode: choices.mode,
    exceptions: exceptionsOf(choices.exceptions).filter(({ paths }) => paths.length > 0),
    maxAccess: isAccess(choices.permissions) ? choices.permissions : null,
  }
}

export function termsOfGrant(grant: Grant, formatMoment: Format): Terms {
  const { expires_at: end } = grant
  return {
    hosts: grant.allowed_hosts,
    methods: grant.allowed_methods,
    paths: grant.allowed_paths,
    calls: grant.max_calls,
    lasting: end === null ? endless : `until ${formatMoment(end)}`,
    hasEnd: end !== null,
    mode: grant.mode,
    exceptions: grant.exceptions,
    maxAccess: grant.max_access,
  }
}

type Format = (moment: string) => string
const endless = 'until you revoke it'

/** Longer names are shortened, so that they can't read like a sentence. */
const longestName = 60
const longestPath = 120

export function sentence(agent: string, account: string, terms: Terms): Words {
  const { hosts, paths, calls, lasting } = terms
  return [
    theirs(shortened(agent, longestName)),
    ' may ',
    ...doing(terms),
    ' on ',
    ...listOfFew(hosts),
    ...(paths ? [', under ', ...listOfFew(paths.map((path) => shortened(path, longestPath)))] : []),
    ', using the account ',
    theirs(shortened(account, longestName)),
    `, ${lasting}`,
    calls === null ? '. ' : `, up to ${count(calls, 'call')}. `,
    ...asking(terms),
  ]
}

/** The question itself: who wants to do what, in the provider's own terms. `account`: null until there is one. */
export function question(
  { agent, provider_name: provider }: Pick<AccessRequest, 'agent' | 'provider_name'>,
  account: string | null,
  terms: Terms,
  target: Target,
  isOver = false,
): Words {
  const { text, joint, such } = canDo(terms, target)
  const never = isOver ? undefined : cannotDo(terms, target)
  return [
    theirs(shortened(agent.name, longestName)),
    ` ${isOver ? 'wanted' : 'wants'} to ${text} ${joint} your `,
    theirs(shortened(provider, longestName)),
    ' account',
    ...(account === null ? [] : [' ', theirs(shortened(account, longestName))]),
    `${such}.`,
    never === undefined ? '' : ` ${never}`,
  ]
}

/** Where, and what sets it apart from all calls there: below the question. */
export function limits({ hosts, paths, calls, exceptions }: Terms): Words {
  return [
    'On ',
    ...listOfFew(hosts, 3),
    ...(paths
      ? [
          ', under ',
          ...listOfFew(
            paths.map((path) => shortened(path, longestPath)),
            3,
          ),
        ]
      : []),
    calls === null ? '.' : `, up to ${count(calls, 'call')}.`,
    ...exceptions.slice(0, fewExceptions).flatMap(exceptionWords),
    ...more(exceptions.length),
  ]
}

type Doing = Pick<Terms, 'methods' | 'maxAccess'>

/** What it may do, and with which methods. A limit on what calls do says more than their methods. */
export function doing({ methods, maxAccess }: Doing): Words {
  if (methods === null) return [verbs(null, maxAccess), ...(maxAccess === null ? [' (any method)'] : [])]
  return [verbs(methods, maxAccess), ' (', ...listOf(methods), ')']
}

function verbs(methods: Terms['methods'], maxAccess: Terms['maxAccess']): string {
  const able = verbsOf({ methods, maxAccess })
  if (onlyReads(able)) return 'only read'
  return generalVerbs(able) + (maxAccess === 'write' ? ', but not delete' : '')
}

/** Which calls wait for the user. */
export function asking({ mode, exceptions, methods, maxAccess }: Doing & Pick<Terms, 'mode' | 'exceptions'>): Words {
  const onlyReads = verbs(methods, maxAccess) === 'only read'
  const rule = {
    allow_all: 'It doesn’t ask you before calls.',
    ask_writes: onlyReads ? 'It doesn’t ask you before calls.' : 'It asks you before each change.',
    ask_all: 'It asks you before each call.',
  }[mode]
  return [rule, ...exceptions.slice(0, fewExceptions).flatMap(exceptionWords), ...more(exceptions.length)]
}

const fewExceptions = 5
const exceptionVerbs = { deny: ' Never allowed: ', ask: ' Always asks: ', allow: ' Runs without asking: ' }

function exceptionWords({ action, methods, paths }: Terms['exceptions'][number]): Words {
  const shown = paths.map((path) => shortened(path, longestPath))
  return [exceptionVerbs[action], ...(methods ? listOf(methods) : ['anything']), ' under ', ...listOfFew(shown), '.']
}

function more(exceptions: number): Words {
  return exceptions > fewExceptions ? [` And ${count(exceptions - fewExceptions, 'more exception')}.`] : []
}

export const unverifiedProvider = 'This provider is unverified: an agent proposed it and chose its name.'

/** The risks of these terms. */
export function risksOf(request: Pick<AccessRequest, 'verified'>, terms: Terms): Words[] {
  const wide = terms.hosts.filter(isWildcard)
  return [
    ...(request.verified ? [] : [[unverifiedProvider]]),
    ...(wide.length === 0 ? [] : [[...listOfFew(wide), ' covers every subdomain, no matter who runs it.']]),
    ...(terms.methods === null && terms.maxAccess === null && terms.mode === 'allow_all'
      ? [['It can change and delete anything that the account can, without asking you.']]
      : []),
    ...(terms.hasEnd ? [] : [['No expiry: it stays active until you revoke it.']]),
  ]
}
