/** The signed-in user, if any. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Query, QueryClient } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import type { User } from '@sallyport/sdk'
import { isProblem } from '../ui/problem.ts'
import { service } from './service.ts'

const key = ['me']
const endedKey = ['session-has-ended']
const leavingKey = ['is-signing-out']

/** Null if no one is signed in. Undefined while loading. */
export function useMe() {
  const queries = useQueryClient()
  const me = useQuery({
    queryKey: key,
    queryFn: async (): Promise<User | null> => {
      const user = await whoIsSignedIn()
      const before = queries.getQueryData<User | null>(key)
      if (!before || before.user_id === user?.user_id) return user
      if (user) void queries.resetQueries(ofOneUser)
      else queries.setQueryData(endedKey, true)
      return user
    },
    refetchOnWindowFocus: 'always',
  })
  // Not before the user's views are gone: one that is still shown would request its data again, without a session.
  const isSignedOut = me.data === null
  useEffect(() => {
    if (isSignedOut) queries.removeQueries(notShownOfOneUser)
  }, [isSignedOut, queries])
  return me
}

async function whoIsSignedIn(): Promise<User | null> {
  try {
    return (await service.auth.me()).user
  } catch (problem) {
    if (isProblem(problem, 'unauthenticated')) return null
    throw problem
  }
}

/** Whether the page's session ended other than by signing out here. */
export function useHasEnded(): boolean {
  return useQuery({ queryKey: endedKey, queryFn: () => false, initialData: false, enabled: false }).data
}

/** A call was refused as unauthenticated: checks whether the session has ended. */
export function lookForSession(queries: QueryClient, problem: unknown): void {
  if (isProblem(problem, 'unauthenticated')) void queries.invalidateQueries({ queryKey: key })
}

/** Cached data that belongs to one user. */
const ofPage = new Set<unknown>([key[0], endedKey[0], leavingKey[0]])
const ofOneUser = { predicate: ({ queryKey }: Query) => !ofPage.has(queryKey[0]) }
const notShownOfOneUser = { ...ofOneUser, type: 'inactive' as const }

/** Signs out, and refetches nothing meanwhile: the session ends before the service replies. */
export function useSignOut() {
  const queries = useQueryClient()
  const forgetEverything = useForgetEverything()
  return useCallback(
    async (end: () => Promise<unknown>) => {
      queries.setQueryData(leavingKey, true)
      try {
        await end()
        await forgetEverything(null)
      } catch (problem) {
        // Without a session nothing else would be answered; that is looked for anyway.
        if (!isProblem(problem, 'unauthenticated')) void queries.invalidateQueries()
        throw problem
      } finally {
        queries.setQueryData(leavingKey, false)
      }
    },
    [queries, forgetEverything],
  )
}

export function isSigningOut(queries: QueryClient): boolean {
  return queries.getQueryData(leavingKey) === true
}

/** After signing in or out, clears all data of the previous user. */
export function useForgetEverything() {
  const queries = useQueryClient()
  return useCallback(
    async (user: User | null) => {
      await queries.cancelQueries()
      queries.setQueryData(endedKey, false)
      queries.setQueryData(key, user)
      queries.removeQueries(notShownOfOneUser)
    },
    [queries],
  )
}

type Named = Pick<User, 'name' | 'email' | 'user_id'>

export function nameOf({ name, email, user_id: id }: Named): string {
  return name ?? email ?? id
}

/** Distinguishes users with the same name. */
export function aboutUser({ name, email, user_id: id }: Named): string | undefined {
  if (name !== null && email !== null) return email
  return name === null && email === null ? undefined : id
}
