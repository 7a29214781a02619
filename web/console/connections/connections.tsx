import { View } from '../../ui/view.tsx'

export function Connections() {
  return <View title="Connections" />
}
