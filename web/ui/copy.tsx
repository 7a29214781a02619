import { Action } from './action.tsx'
import { useSay } from './message.tsx'

/** Puts a text on the clipboard, and says so. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const { say, complain } = useSay()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied.')
    } catch {
      complain('The browser did not let the page copy. Select the text instead.')
    }
  }
  return <Action act={copy}>{label}</Action>
}
