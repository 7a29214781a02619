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
      complain('The browser did not let the page copy. Select the text instead.')
    }
  }
  return (
    <Action act={copy} {...(label && { label })}>
      Copy
    </Action>
  )
}
