/** Offers notifications at the top of the page as long as the browser has not been asked for permission. */
import { useQueryClient } from '@tanstack/react-query'
import type { DeviceClient } from '@sallyport/sdk'
import { Action } from '../ui/action.tsx'
import { useSay } from '../ui/message.tsx'
import { Card, focusHeading } from '../ui/view.tsx'
import { canRing, ring } from './installed.ts'
import { keep } from './kept-device.ts'
import type { KeptDevice } from './kept-device.ts'

export function isWorthOffering(kept: KeptDevice): boolean {
  return kept.wantsNoNotifications !== true && canRing() && Notification.permission !== 'denied'
}

interface OfferProps {
  device: DeviceClient
  kept: KeptDevice
  onDeclined: () => void
}

export function OfferNotifications({ device, kept, onDeclined }: OfferProps) {
  const turnOn = useTurnOn(device, kept)
  const decline = async () => {
    await keep({ ...kept, wantsNoNotifications: true })
    onDeclined()
    focusHeading()
  }
  return (
    <Card label="Notifications">
      <p className="font-semibold">Get notified when an agent needs you</p>
      <p className="mt-1 text-sm text-quiet">
        Otherwise you see requests only while this page is open. A notification names the agent and the provider.
      </p>
      <div className="mt-4 flex flex-wrap gap-2">
        <Action look="main" act={turnOn}>
          Turn on notifications
        </Action>
        <Action act={decline}>Not now</Action>
      </div>
    </Card>
  )
}

export function useTurnOn(device: DeviceClient, kept: KeptDevice): () => Promise<void> {
  const queries = useQueryClient()
  const { say, complain } = useSay()
  return async () => {
    if (!(await ring(device, kept))) {
      complain('Notifications are blocked. Allow them for this site in your browser’s settings.')
      return
    }
    focusHeading()
    say('Notifications are on.')
    await queries.invalidateQueries({ queryKey: ['me'] })
  }
}
