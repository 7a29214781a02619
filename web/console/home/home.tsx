import { View } from '../../ui/view.tsx'

export function Home() {
  return <View title="Home" />
}
