import { createRoot } from 'react-dom/client'
import { Messages } from '../ui/message.tsx'
import '../ui/theme.css'
import { View } from '../ui/view.tsx'

const page = document.querySelector('#page')
if (page) {
  createRoot(page).render(
    <Messages>
      <View title="Authenticator" />
    </Messages>,
  )
}
