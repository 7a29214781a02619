/** Calls over time by outcome. The numbers are also shown as text. */
import { useQuery } from '@tanstack/react-query'
import type { AuditSeriesReply } from '@sallyport/sdk'
import { Loaded } from '../../ui/loading.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Card } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { service } from '../service.ts'
import { bucketsOf, ofWhat, outcomes, sinceOf } from './filters.ts'
import type { Filters } from './filters.ts'

type Outcome = keyof typeof outcomes

const colours: Record<Outcome, string> = {
  answered: 'fill-accent bg-accent',
  refused: 'fill-warn bg-warn',
  failed: 'fill-danger bg-danger',
  unknown: 'fill-edge bg-edge',
}
/** Order of the stack, from the bottom. */
const order = Object.keys(colours) as Outcome[]

export function Chart({ filters }: { filters: Filters }) {
  const series = useQuery({
    queryKey: ['activity', 'series', filters.span, ofWhat(filters)],
    queryFn: ({ signal }) => {
      const since = sinceOf(filters.span, Date.now())
      const query = { ...ofWhat(filters), buckets: bucketsOf(filters.span), ...(since && { since }) }
      return service.audit.series(query, { signal })
    },
    placeholderData: (before) => before,
  })
  return (
    <Card label="Calls over time">
      <Loaded query={series}>{(reply) => <Drawn reply={reply} />}</Loaded>
    </Card>
  )
}

const height = 120
const step = 10

function Drawn({ reply: { series, starts, complete_since: completeSince } }: { reply: AuditSeriesReply }) {
  const [all] = series
  const totals = order.map((outcome) => ({ outcome, total: sum(all?.[outcome] ?? []) }))
  const stacks = starts.map((start, index) => ({
    start,
    parts: order.map((outcome) => ({ outcome, calls: all?.[outcome][index] ?? 0 })),
  }))
  const most = Math.max(1, ...stacks.map(({ parts }) => sum(parts.map(({ calls }) => calls))))
  return (
    <div className="space-y-3">
      <ul className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
        {totals.map(({ outcome, total }) => (
          <li key={outcome} className="flex items-center gap-2">
            <span aria-hidden="true" className={`size-2.5 rounded-xs ${colours[outcome]}`} />
            {outcomes[outcome]} <span className="font-semibold tabular-nums">{total.toLocaleString()}</span>
          </li>
        ))}
      </ul>
      <svg
        role="img"
        aria-label={`Calls over time: ${count(sum(totals.map(({ total }) => total)), 'call')}, at most ${most} per bar`}
        viewBox={`0 0 ${stacks.length * step} ${height}`}
        className="h-32 w-full"
        preserveAspectRatio="none"
      >
        {stacks.map(({ start, parts }, index) => (
          <Stack key={start} x={index * step} start={start} parts={parts} most={most} />
        ))}
      </svg>
      <p className="flex justify-between text-xs text-quiet">
        <span>{starts[0] && formatMoment(starts[0])}</span>
        <span>now</span>
      </p>
      {completeSince && (
        <p className="text-sm text-quiet">
          There are too many calls to count them all: counts before {formatMoment(completeSince)} are incomplete.
        </p>
      )}
    </div>
  )
}

interface StackProps {
  x: number
  start: string
  parts: { outcome: Outcome; calls: number }[]
  most: number
}

function Stack({ x, start, parts, most }: StackProps) {
  const present = parts.filter(({ calls }) => calls > 0)
  const heights = present.map(({ calls }) => Math.max(2, (calls / most) * (height - 4)))
  return (
    <g>
      <title>{`${formatMoment(start)}: ${present.map(({ outcome, calls }) => `${calls} ${outcomes[outcome].toLowerCase()}`).join(', ') || 'none'}`}</title>
      <rect x={x + 1} y={height - 1.5} width={step - 2} height="1.5" className="fill-line" />
      {present.map(({ outcome }, index) => {
        const top = height - sum(heights.slice(0, index + 1))
        return (
          <rect key={outcome} x={x + 1} y={top} width={step - 2} height={heights[index]} className={colours[outcome]} />
        )
      })}
    </g>
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
