/** Who is signed in, if anybody is. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { User } from '@sallyport/sdk'
import { isProblem } from '../ui/problem.ts'
import { service } from './service.ts'

const key = ['me']

/** null: nobody. undefined: not known yet. */
export function useMe() {
  return useQuery({
    queryKey: key,
    queryFn: async (): Promise<User | null> => {
      try {
        return (await service.auth.me()).user
      } catch (problem) {
        if (isProblem(problem, 'unauthenticated')) return null
        throw problem
      }
    },
  })
}

/** After signing in or out: nothing that another person was shown stays. */
export function useForgetEverything() {
  const queries = useQueryClient()
  return useCallback(
    async (user: User | null) => {
      await queries.cancelQueries()
      queries.clear()
      queries.setQueryData(key, user)
    },
    [queries],
  )
}

export function nameOf({ name, email, user_id: id }: Pick<User, 'name' | 'email' | 'user_id'>): string {
  return name ?? email ?? id
}
