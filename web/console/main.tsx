import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render } from '../ui/broken.tsx'
import { Messages } from '../ui/message.tsx'
import { onReturn } from '../ui/reachability.ts'
import '../ui/theme.css'
import { Console } from './console.tsx'
import { isSigningOut, lookForSession } from './session.ts'

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (problem) => {
      lookForSession(queries, problem)
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // The SDK has already retried, and a local service is reachable while offline.
      retry: false,
      networkMode: 'always',
    },
  },
})

onReturn(() => {
  // After live.ts has begun to connect again.
  setTimeout(() => {
    if (!isSigningOut(queries)) void queries.invalidateQueries()
  })
})

render(
  <QueryClientProvider client={queries}>
    <Messages
      onProblem={(problem) => {
        lookForSession(queries, problem)
      }}
    >
      <Console />
    </Messages>
  </QueryClientProvider>,
)
