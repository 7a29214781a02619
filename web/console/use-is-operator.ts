import { useQuery } from '@tanstack/react-query'
import { service } from './service.ts'

/** Whether this session may act as the operator, as that of a local start's link does. */
export function useIsOperator(): boolean {
  const { data = false } = useQuery({
    queryKey: ['is-operator'],
    queryFn: async ({ signal }) => (await service.auth.me({ signal })).operator,
    staleTime: Infinity,
  })
  return data
}
