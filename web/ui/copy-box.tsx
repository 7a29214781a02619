import { CodeBox } from './code-box.tsx'
import { CopyButton } from './copy-button.tsx'

interface CopyBoxProps {
  label: string
  text: string
  /** What a screen reader says of the button. */
  copies: string
}

/** Text to take along: as it is, with a button that copies it. */
export function CopyBox({ label, text, copies }: CopyBoxProps) {
  return (
    <div className="flex flex-wrap items-start gap-2">
      <div className="min-w-0 grow basis-64">
        <CodeBox label={label} text={text} />
      </div>
      <CopyButton text={text} label={copies} />
    </div>
  )
}
