/** Who is signed in, if anybody is. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Query, QueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { User } from '@sallyport/sdk'
import { isProblem } from '../ui/problem.ts'
import { service } from './service.ts'

const key = ['me']
const endedKey = ['session-has-ended']

/** null: nobody. undefined: not known yet. */
export function useMe() {
  const queries = useQueryClient()
  return useQuery({
    queryKey: key,
    queryFn: async (): Promise<User | null> => {
      const user = await whoIsSignedIn()
      const before = queries.getQueryData<User | null>(key)
      if (!before || before.user_id === user?.user_id) return user
      if (user) {
        void queries.resetQueries(ofOneUser)
      } else {
        queries.removeQueries(ofOneUser)
        queries.setQueryData(endedKey, true)
      }
      return user
    },
    refetchOnWindowFocus: 'always',
  })
}

async function whoIsSignedIn(): Promise<User | null> {
  try {
    return (await service.auth.me()).user
  } catch (problem) {
    if (isProblem(problem, 'unauthenticated')) return null
    throw problem
  }
}

/** Whether a session ended that the page was used with, other than by signing out here. */
export function useHasEnded(): boolean {
  return useQuery({ queryKey: endedKey, queryFn: () => false, initialData: false, enabled: false }).data
}

/** A call was refused for want of a session: the page finds out whether it has ended. */
export function lookForSession(queries: QueryClient, problem: unknown): void {
  if (isProblem(problem, 'unauthenticated')) void queries.invalidateQueries({ queryKey: key })
}

/** What is shown to one user and not to the next. */
const ofOneUser = { predicate: ({ queryKey }: Query) => queryKey[0] !== key[0] && queryKey[0] !== endedKey[0] }

/** After signing in or out: nothing that another person was shown stays. */
export function useForgetEverything() {
  const queries = useQueryClient()
  return useCallback(
    async (user: User | null) => {
      await queries.cancelQueries()
      queries.setQueryData(endedKey, false)
      queries.setQueryData(key, user)
      queries.removeQueries(ofOneUser)
    },
    [queries],
  )
}

type Named = Pick<User, 'name' | 'email' | 'user_id'>

export function nameOf({ name, email, user_id: id }: Named): string {
  return name ?? email ?? id
}

/** What tells apart people of one name. */
export function aboutUser({ name, email, user_id: id }: Named): string | undefined {
  if (name !== null && email !== null) return email
  return name === null && email === null ? undefined : id
}
