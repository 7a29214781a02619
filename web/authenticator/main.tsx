import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render } from '../ui/broken.tsx'
import { Messages } from '../ui/message.tsx'
import { onReturn } from '../ui/reachability.ts'
import '../ui/theme.css'
import { addressOf, takePairingCode } from './address.tsx'
import { Authenticator } from './authenticator.tsx'
import { registerWorker } from './installed.ts'

const pairingCode = takePairingCode()
// A notification was clicked while the page was open.
if ('serviceWorker' in navigator) {
  navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent<{ id?: string }>) => {
    location.hash = data.id ? addressOf(data.id) : ''
  })
}
// Without it the page still works online.
registerWorker().catch(() => undefined)

const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
onReturn(() => void queries.invalidateQueries())

render(
  <QueryClientProvider client={queries}>
    <Messages>
      <Authenticator pairingCode={pairingCode} />
    </Messages>
  </QueryClientProvider>,
)
