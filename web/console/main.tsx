import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { isProblem } from '../ui/problem.ts'
import { Messages } from '../ui/message.tsx'
import '../ui/theme.css'
import { Console } from './console.tsx'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the service refused it would refuse again; only a lost answer is worth another try.
      retry: (failures, problem) => failures < 2 && isProblem(problem, 'no_answer', 'timeout', 'not_ready'),
    },
  },
})

const page = document.querySelector('#page')
if (page) {
  createRoot(page).render(
    <QueryClientProvider client={queries}>
      <Messages>
        <Console />
      </Messages>
    </QueryClientProvider>,
  )
}
