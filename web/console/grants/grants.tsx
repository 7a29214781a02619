import { View } from '../../ui/view.tsx'

export function Grants() {
  return <View title="Grants" />
}
