/** Calls over time by outcome, with the filters of the list. The numbers are also shown as text. */
import { useQuery } from '@tanstack/react-query'
import type { AuditSeries, AuditSeriesReply } from '@sallyport/sdk'
import { Loaded } from '../../ui/loading.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Card } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { service } from '../service.ts'
import { bucketsOf, seriesQueryOf, sinceOf } from './filters.ts'
import type { Filters, Span } from './filters.ts'
import { scaleOf } from './scale.ts'

/** Order of the stack, from the bottom. */
const parts = [
  { name: 'Succeeded', look: 'fill-accent bg-accent', of: (all) => less(all.answered, all.answered_errors) },
  { name: 'Answered with an error', look: 'fill-theirs bg-theirs', of: (all) => all.answered_errors },
  { name: 'Refused', look: 'fill-warn bg-warn', of: (all) => all.refused },
  { name: 'Failed', look: 'fill-danger bg-danger', of: (all) => all.failed },
  { name: 'Unknown', look: 'fill-edge bg-edge', of: (all) => all.unknown },
] as const satisfies { name: string; look: string; of: (all: AuditSeries) => number[] }[]

function less(all: readonly number[], some: readonly number[]): number[] {
  return all.map((number, index) => number - (some[index] ?? 0))
}

export function Chart({ filters }: { filters: Filters }) {
  const query = seriesQueryOf(filters)
  const series = useQuery({
    queryKey: ['activity', 'series', filters.span, query],
    queryFn: ({ signal }) =>
      service.audit.series(
        { ...query, since: sinceOf(filters.span, Date.now()) ?? '', buckets: bucketsOf(filters.span) },
        { signal },
      ),
    enabled: query !== undefined,
    placeholderData: (before) => before,
  })
  // It counts calls, and these filters leave none.
  if (query === undefined) return null
  return (
    <Card label="Calls over time">
      <Loaded query={series} shape="chart">
        {(reply) => <Drawn reply={reply} span={filters.span} />}
      </Loaded>
    </Card>
  )
}

const height = 120
const step = 10

function Drawn({
  reply: { series, starts, complete_since: completeSince },
  span,
}: {
  reply: AuditSeriesReply
  span: Span
}) {
  const [all] = series
  const counted = parts.map((part) => ({ ...part, counts: all ? part.of(all) : [] }))
  const stacks = starts.map((start, index) => ({
    start,
    bars: counted.map(({ name, look, counts }) => ({ name, look, calls: counts[index] ?? 0 })),
  }))
  const most = Math.max(0, ...stacks.map(({ bars }) => sum(bars.map(({ calls }) => calls))))
  const { top, ticks } = scaleOf(most)
  return (
    <div className="space-y-3">
      <ul className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
        {counted.map(({ name, look, counts }) => (
          <li key={name} className="flex items-center gap-2">
            <span aria-hidden="true" className={`size-2.5 rounded-xs ${look}`} />
            {name} <span className="font-semibold tabular-nums">{sum(counts).toLocaleString('en')}</span>
          </li>
        ))}
      </ul>
      <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 pt-2 text-xs leading-4 text-quiet tabular-nums">
        <div aria-hidden="true" className="-my-2 flex h-40 flex-col justify-between text-end">
          {ticks.map((tick) => (
            <span key={tick}>{tick.toLocaleString('en')}</span>
          ))}
        </div>
        <svg
          role="img"
          aria-label={`Calls over time: ${count(all?.total ?? 0, 'call')}, at most ${most} per bar`}
          viewBox={`0 0 ${stacks.length * step} ${height}`}
          className="h-36 w-full"
          preserveAspectRatio="none"
        >
          {ticks.map((tick) => (
            <line
              key={tick}
              x1="0"
              x2={stacks.length * step}
              y1={height - (tick / top) * height}
              y2={height - (tick / top) * height}
              className="stroke-line"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {stacks.map(({ start, bars }, index) => (
            <Stack key={start} x={index * step} start={start} bars={bars} top={top} />
          ))}
        </svg>
        <p aria-hidden="true" className="col-start-2 grid grid-cols-4 pt-2">
          {[0, 1, 2, 3].map((quarter) => (
            <span key={quarter} className="flex justify-between gap-2">
              {momentAt(starts[Math.floor((quarter * starts.length) / 4)], span)}
              {quarter === 3 && <span>now</span>}
            </span>
          ))}
        </p>
      </div>
      {completeSince && (
        <p className="text-sm text-quiet">
          There are too many calls to count them all: counts before {formatMoment(completeSince)} are incomplete.
        </p>
      )}
    </div>
  )
}

const hours = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const dates = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

function momentAt(start: string | undefined, span: Span): string {
  return start === undefined ? '' : (span === 'day' ? hours : dates).format(new Date(start))
}

interface StackProps {
  x: number
  start: string
  bars: { name: string; look: string; calls: number }[]
  top: number
}

function Stack({ x, start, bars, top }: StackProps) {
  const present = bars.filter(({ calls }) => calls > 0)
  // Few calls among many are still seen.
  const heights = present.map(({ calls }) => Math.max(2, (calls / top) * height))
  return (
    <g>
      <title>{`From ${formatMoment(start)}: ${present.map(({ name, calls }) => `${calls} ${name.toLowerCase()}`).join(', ') || 'none'}`}</title>
      <rect x={x} y="0" width={step} height={height} className="fill-transparent" />
      {present.map(({ name, look }, index) => {
        const end = height - sum(heights.slice(0, index + 1))
        return <rect key={name} x={x + 1} y={end} width={step - 2} height={heights[index]} className={look} />
      })}
    </g>
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
