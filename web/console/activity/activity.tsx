import { View } from '../../ui/view.tsx'

export function Activity() {
  return <View title="Activity" />
}
