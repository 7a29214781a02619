import { Action } from './action.tsx'
import { useSay } from './message.tsx'

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { say, complain } = useSay()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied.')
    } catch {
      // Also fails on plain http from another machine, where there is no clipboard API.
      complain('The browser blocked copying. Select the text and copy it yourself.')
    }
  }
  return (
    <Action act={copy} {...(label && { label })}>
      Copy
    </Action>
  )
}
