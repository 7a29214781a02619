import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessClasses, exceptionActions, grantModes, maxAccesses } from '@sallyport/protocol/grant-terms'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { ServiceError } from '../platform/errors.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { defaultTerms } from './grant.ts'
import type { Grant, GrantException } from './grant.ts'
import { assertNotDenied, hasTerms, isAbove, termsVerdict } from './terms.ts'
import type { TermsCall, TermsVerdict } from './terms.ts'

type Terms = Pick<Grant, 'mode' | 'exceptions' | 'maxAccess'>

interface Told extends Partial<Omit<TermsCall, 'methods'>> {
  method?: string
  methods?: string[]
}

function verdict(terms: Partial<Terms>, { method = 'GET', path = '/', ...told }: Told): TermsVerdict {
  const access = { GET: 'read', DELETE: 'destructive' }[method] ?? 'write'
  const call = { access: access as AccessClass, methods: [method], path, readings: readingsOf(path) }
  return termsVerdict({ ...defaultTerms, ...terms }, { ...call, ...told })
}

function says({ action, term, isAmbiguous }: TermsVerdict): string {
  return `${action} by ${term}${isAmbiguous ? ', ambiguous' : ''}`
}

const on = (action: GrantException['action'], paths: string | string[], methods: string[] | null = null) => ({
  paths: [paths].flat(),
  methods,
  action,
})

test('the mode says which calls wait', () => {
  const waits = { allow_all: [], ask_writes: ['write', 'destructive'], ask_all: ['read', 'write', 'destructive'] }
  for (const mode of grantModes) {
    for (const access of accessClasses) {
      const action = (waits[mode] as string[]).includes(access) ? 'ask' : 'allow'
      assert.deepEqual(verdict({ mode }, { access }), { action, term: 'mode' }, `${mode} ${access}`)
    }
  }
})

test('max_access is judged first, and no mode or exception lifts it', () => {
  for (const maxAccess of maxAccesses) {
    for (const access of accessClasses) {
      for (const mode of grantModes) {
        for (const action of exceptionActions) {
          const { action: found, term } = verdict({ maxAccess, mode, exceptions: [on(action, '/')] }, { access })
          const said = `${maxAccess} ${access} ${mode} ${action}: ${found} by ${term}`
          if (isAbove(access, maxAccess)) assert.deepEqual([found, term], ['deny', 'max_access'], said)
          else assert.deepEqual([found, term], [action, 'exceptions.0'], said)
        }
      }
    }
  }
  assert.deepEqual(
    accessClasses.map((one) => maxAccesses.map((most) => isAbove(one, most))),
    [
      [false, false],
      [true, false],
      [true, true],
    ],
  )
})

test('of several exceptions that match, the strictest counts', () => {
  for (const mode of grantModes) {
    for (const [actions, expected] of [
      [['allow', 'ask', 'deny'], 'deny by exceptions.2'],
      [['deny', 'ask', 'allow'], 'deny by exceptions.0'],
      [['allow', 'ask'], 'ask by exceptions.1'],
      [['allow', 'ask', 'ask'], 'ask by exceptions.1'],
      [['allow', 'allow'], 'allow by exceptions.0'],
    ] as const) {
      const exceptions = actions.map((action) => on(action, '/a'))
      assert.equal(says(verdict({ mode, exceptions }, { path: '/a/b' })), expected, `${mode} ${actions.join()}`)
    }
  }
})

test('an exception is for its paths and methods, and what it does not name is left to the mode', () => {
  const table: [GrantException, Told, string][] = [
    [on('allow', '/a'), { method: 'POST', path: '/a' }, 'allow by exceptions.0'],
    [on('allow', '/a'), { method: 'DELETE', path: '/a/b/c/' }, 'allow by exceptions.0'],
    [on('allow', '/a'), { method: 'POST', path: '/ab' }, 'ask by mode'],
    [on('allow', '/a'), { method: 'POST', path: '/' }, 'ask by mode'],
    [on('allow', '/a', ['POST']), { method: 'POST', path: '/a' }, 'allow by exceptions.0'],
    [on('allow', '/a', ['POST']), { method: 'PUT', path: '/a' }, 'ask by mode'],
    [on('allow', ['/b', '/a/*/c']), { method: 'POST', path: '/a/b/c' }, 'allow by exceptions.0'],
    [on('deny', '/a', ['GET', 'HEAD']), { path: '/a' }, 'deny by exceptions.0'],
    [on('deny', '/a', ['GET', 'HEAD']), { method: 'POST', path: '/a' }, 'ask by mode'],
    [on('ask', '/a'), { path: '/a' }, 'ask by exceptions.0'],
    [on('ask', '/a'), { path: '/b' }, 'allow by mode'],
    [on('deny', '/'), { path: '/' }, 'deny by exceptions.0'],
    [on('deny', '/%7Bcredential%7D/x'), { path: '/%7Bcredential%7D/x' }, 'deny by exceptions.0'],
    [on('allow', '/%7Bcredential%7D/x'), { method: 'POST', path: '/%7Bcredential%7D/x' }, 'allow by exceptions.0'],
  ]
  for (const [exception, told, expected] of table) {
    const said = `${JSON.stringify(exception)} ${JSON.stringify(told)}`
    assert.equal(says(verdict({ mode: 'ask_writes', exceptions: [exception] }, told)), expected, said)
  }
})

test('ask and deny match if one reading of a path does, allow only if all do', () => {
  const table: [GrantException, string, string][] = [
    // As a server without regard to case, or with a format at the end, would route it.
    [on('deny', '/admin'), '/Admin/users', 'deny by exceptions.0'],
    [on('ask', '/Admin'), '/admin', 'ask by exceptions.0'],
    [on('ask', '/admin'), '/admin.json', 'ask by exceptions.0'],
    [on('deny', '/admin'), '/admin;v=1', 'deny by exceptions.0'],
    [on('deny', '/admin'), '/%61dmin', 'deny by exceptions.0'],
    [on('deny', '/a/*/c'), '/a/%20/c', 'deny by exceptions.0'],
    [on('deny', '/caf%C3%A9'), '/caf%c3%a9/x', 'deny by exceptions.0'],
    [on('allow', '/notes'), '/Notes', 'ask by mode'],
    [on('allow', '/notes'), '/notes.json', 'ask by mode'],
    [on('allow', '/notes'), '/%6eotes', 'allow by exceptions.0'],
    [on('allow', '/notes'), '/notes/a%20b', 'allow by exceptions.0'],
    // Read in two ways, of which the exception names one.
    [on('deny', '/admin'), '/notes/..%2fadmin', 'deny by exceptions.0'],
    [on('deny', '/admin'), '/admin%2fusers', 'deny by exceptions.0'],
    [on('deny', '/admin'), '/notes/%252e%252e/%2561dmin', 'deny by exceptions.0'],
    [on('deny', '/a/*/c'), '/a//c', 'deny by exceptions.0'],
    [on('ask', '/admin'), '/notes/..%2fadmin', 'deny by exceptions.0, ambiguous'],
    [on('ask', '/admin'), '//admin', 'deny by exceptions.0, ambiguous'],
    [on('allow', '/notes'), '/notes/..%2fadmin', 'deny by exceptions.0, ambiguous'],
    [on('allow', '/notes'), '/notes%2f1', 'deny by exceptions.0, ambiguous'],
    [on('allow', '/notes'), '/admin/..;/notes', 'deny by exceptions.0, ambiguous'],
    [on('allow', '/notes'), '/notes/%c0%ae%c0%ae/admin', 'deny by exceptions.0, ambiguous'],
    // Or none.
    [on('deny', '/admin'), '/projects/group%2Fname', 'ask by mode'],
    [on('allow', '/notes'), '/projects/group%2Fname', 'ask by mode'],
  ]
  for (const [exception, path, expected] of table) {
    const found = verdict({ mode: 'ask_all', exceptions: [exception] }, { path })
    assert.equal(says(found), expected, `${exception.action} ${exception.paths.join()} ${path}`)
  }
  const both = [on('allow', '/notes'), on('deny', '/admin')]
  assert.equal(says(verdict({ exceptions: both }, { path: '/notes/..%2fadmin' })), 'deny by exceptions.1')
  assert.equal(says(verdict({ exceptions: both }, { path: '/notes/..%2fother' })), 'deny by exceptions.0, ambiguous')
})

test('ask and deny match if one method of a call does, allow only if all do', () => {
  const table: [GrantException, string[], string][] = [
    [on('deny', '/', ['DELETE']), ['POST', 'DELETE'], 'deny by exceptions.0'],
    [on('ask', '/', ['POST']), ['POST', 'DELETE'], 'ask by exceptions.0'],
    [on('allow', '/', ['POST']), ['POST', 'DELETE'], 'ask by mode'],
    [on('allow', '/', ['POST', 'DELETE']), ['POST', 'DELETE'], 'allow by exceptions.0'],
    [on('allow', '/'), ['POST', 'NONSENSE'], 'allow by exceptions.0'],
    [on('deny', '/', ['GET']), ['POST', 'DELETE'], 'ask by mode'],
  ]
  for (const [exception, methods, expected] of table) {
    const found = verdict({ mode: 'ask_writes', exceptions: [exception] }, { method: 'POST', methods })
    assert.equal(says(found), expected, `${JSON.stringify(exception)} ${methods.join()}`)
  }
})

test('what is inside a call may be anywhere, so ask and deny match it', () => {
  const inside = { method: 'POST', path: '/graphql', reaches: 'operations' as const }
  const batch = { ...inside, path: '/batch', reaches: 'paths' as const }
  const table: [GrantException, Told, string][] = [
    [on('deny', '/admin'), inside, 'deny by exceptions.0'],
    [on('ask', '/admin'), batch, 'ask by exceptions.0'],
    [on('deny', '/admin', ['DELETE']), batch, 'deny by exceptions.0'],
    // All of it only reads.
    [on('deny', '/admin'), { ...inside, access: 'read' }, 'deny by exceptions.0'],
    [on('deny', '/admin', ['DELETE']), { ...inside, access: 'read' }, 'allow by mode'],
    [on('deny', '/admin', ['DELETE', 'GET']), { ...inside, access: 'read' }, 'deny by exceptions.0'],
    [on('deny', '/graphql', ['POST']), { ...inside, access: 'read' }, 'deny by exceptions.0'],
    // GraphQL has one path only.
    [on('allow', '/graphql'), inside, 'allow by exceptions.0'],
    [on('allow', '/admin'), inside, 'ask by mode'],
    [on('allow', '/'), batch, 'ask by mode'],
  ]
  for (const [exception, told, expected] of table) {
    const said = `${JSON.stringify(exception)} ${JSON.stringify(told)}`
    assert.equal(says(verdict({ mode: 'ask_writes', exceptions: [exception] }, told)), expected, said)
  }
})

test('a refusal has a code for its reason and names the term', () => {
  const refusal = (terms: Partial<Terms>, told: Told) => {
    try {
      assertNotDenied(verdict(terms, told), { ...defaultTerms, ...terms })
    } catch (error) {
      const { code, field, publicMessage } = error as ServiceError
      return [code, field, /\(([^)]*)\)/.exec(publicMessage ?? '')?.[1]]
    }
    return undefined
  }
  assert.deepEqual(refusal({ maxAccess: 'read' }, { method: 'POST' }), ['access_not_allowed', 'method', 'max_access'])
  const exceptions = [on('allow', '/a'), on('deny', '/b')]
  assert.deepEqual(refusal({ exceptions }, { path: '/b' }), ['denied_by_exception', 'url', 'exceptions.1'])
  assert.deepEqual(refusal({ exceptions }, { path: '/a%2fc' }), ['path_not_allowed', 'url', 'exceptions.0'])
  assert.equal(refusal({ exceptions }, { path: '/c' }), undefined)
  assert.equal(refusal({ mode: 'ask_all' }, {}), undefined)
})

test('a grant has terms if one of them could matter', () => {
  const others: Partial<Terms>[] = [
    { mode: 'ask_writes' },
    { mode: 'ask_all' },
    { maxAccess: 'write' },
    { exceptions: [on('allow', '/')] },
  ]
  assert.ok(!hasTerms(defaultTerms))
  for (const terms of others) assert.ok(hasTerms({ ...defaultTerms, ...terms }))
})
