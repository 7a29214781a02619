import { View } from '../../ui/view.tsx'
import { Frame } from '../shell.tsx'

export function Approve({ id }: { id: string }) {
  return (
    <Frame>
      <View title="An agent asks for access" lead={id} />
    </Frame>
  )
}
