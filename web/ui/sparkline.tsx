/** Counts over time as small bars. The label says the same as text. */
import { barsOf } from './bars-of.ts'

const height = 32
const step = 8

export function Sparkline({ counts, label }: { counts: readonly number[]; label: string }) {
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${counts.length * step} ${height}`}
      className="mt-0.5 h-5 w-28 text-accent"
      preserveAspectRatio="none"
    >
      {barsOf(counts, height - 2).map((bar, index) => (
        <rect
          key={index}
          x={index * step + 1}
          y={height - Math.max(bar, 1.5)}
          width={step - 2}
          height={Math.max(bar, 1.5)}
          rx="1"
          className={bar === 0 ? 'fill-line' : 'fill-current'}
        />
      ))}
    </svg>
  )
}
