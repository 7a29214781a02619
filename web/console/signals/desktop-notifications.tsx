/** Turns desktop notifications on and off, in this browser. The browser is asked for permission on a click only. */
import type { User } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { Section } from '../../ui/view.tsx'
import { canNotify, keepWish, useWish } from './kept-wish.ts'

export function DesktopNotifications({ user: { user_id: id } }: { user: User }) {
  const { say, complain } = useSay()
  const isOn = useWish(id)
  if (!canNotify()) return null
  const turnOn = async () => {
    if ((await Notification.requestPermission()) !== 'granted') {
      complain(
        'Your browser blocks notifications of this page. Allow them in its settings for this site, then try again.',
      )
      return
    }
    keepWish(id, true)
    say('Notifications are on.')
  }
  const turnOff = () => {
    keepWish(id, false)
    say('Notifications are off.')
  }
  return (
    <Section
      title="Notifications on this computer"
      note="One for each request and call that waits for you, while the console is open in a tab that you aren’t looking at. They name the agent, and nothing of a call."
    >
      {isOn ? (
        <Action act={turnOff}>Turn off notifications</Action>
      ) : (
        <Action act={turnOn}>Turn on notifications</Action>
      )}
    </Section>
  )
}
