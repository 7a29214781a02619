/** What lies behind it is shown to whoever is signed in; others are asked to sign in. */
import type { ReactNode } from 'react'
import type { User } from '@sallyport/sdk'
import { Loaded } from '../../ui/loading.tsx'
import { View } from '../../ui/view.tsx'
import { useMe } from '../session.ts'
import { Frame } from '../shell.tsx'

export function SignedIn({ children }: { children: (user: User) => ReactNode }) {
  const me = useMe()
  return me.data ? (
    children(me.data)
  ) : (
    <Frame>
      <Loaded query={me}>{() => <View title="Sign in" />}</Loaded>
    </Frame>
  )
}
