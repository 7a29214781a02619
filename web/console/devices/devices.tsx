import { View } from '../../ui/view.tsx'

export function Devices() {
  return <View title="Devices" />
}
