import { Action } from './action.tsx'
import { useSay } from './message.tsx'

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { say, complain } = useSay()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied.')
    } catch {
      // Also where the page came over plain http from another machine, which has no clipboard.
      complain('The browser blocked copying. Select the text and copy it yourself.')
    }
  }
  return (
    <Action act={copy} {...(label && { label })}>
      Copy
    </Action>
  )
}
