/**
 * Others' text exactly as it is, in a box that it can't leave: it scrolls inside, no mark in it changes the direction of
 * anything, and what can't be seen is shown.
 */
import { quotations, revealed, unstacked } from './others-text.ts'

export function CodeBox({ label, text, height = 'max-h-96' }: { label: string; text: string; height?: string }) {
  return (
    <pre
      dir="ltr"
      tabIndex={0}
      role="group"
      aria-label={label}
      className={`isolate overflow-auto rounded-lg border border-line bg-raised px-3 py-2.5 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap [unicode-bidi:isolate] ${height}`}
    >
      <Exactly text={text} />
    </pre>
  )
}

const theirLook = 'rounded-sm bg-ink/6 box-decoration-clone px-0.5'

/** A sentence of the service, with the words of others in it set apart. */
export function Quoting({ sentence }: { sentence: string }) {
  return quotations(sentence).map(({ text, isTheirs }, index) =>
    isTheirs ? (
      <bdi key={index} className={theirLook}>
        <Exactly text={text} />
      </bdi>
    ) : (
      text
    ),
  )
}

export function Exactly({ text }: { text: string }) {
  return revealed(unstacked(text)).map((part, index) =>
    typeof part === 'string' ? (
      part
    ) : (
      <span key={index} className="mx-0.5 rounded-sm bg-warn-soft px-1 text-[0.6875rem] font-semibold text-warn">
        {part.hidden}
      </span>
    ),
  )
}
