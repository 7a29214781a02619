import { View } from '../../ui/view.tsx'

export function Account() {
  return <View title="Account" />
}
