import { unstacked } from './others-text.ts'

/** Words of others in a box of their own. They scroll inside it. */
export function Quotation({ labelledBy, children }: { labelledBy: string; children: string }) {
  return (
    <blockquote
      dir="auto"
      tabIndex={0}
      aria-labelledby={labelledBy}
      className="isolate max-h-48 overflow-auto rounded-lg border-s-4 border-edge bg-raised px-3 py-2 wrap-anywhere whitespace-pre-wrap [unicode-bidi:isolate]"
    >
      {unstacked(children)}
    </blockquote>
  )
}
