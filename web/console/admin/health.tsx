import type { AdminClient } from '@sallyport/sdk'
import { View } from '../../ui/view.tsx'

export function Health({ admin }: { admin: AdminClient }) {
  void admin
  return <View title="Health" />
}
