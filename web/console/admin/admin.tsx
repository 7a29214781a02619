import { View } from '../../ui/view.tsx'

export function Admin() {
  return <View title="Admin" />
}
