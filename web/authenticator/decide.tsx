import type { DeviceClient } from '@sallyport/sdk'
import { View } from '../ui/view.tsx'
import type { KeptDevice } from './kept-device.ts'

interface DecideProps {
  device: DeviceClient
  kept: KeptDevice
  accessRequestId: string
}

export function Decide({ accessRequestId }: DecideProps) {
  return <View title="An agent asks for access" lead={accessRequestId} />
}
