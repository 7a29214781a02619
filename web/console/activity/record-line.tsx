import type { ReactNode } from 'react'
import type { AuditRecord } from '@sallyport/sdk'
import { Sentence } from '../../ui/sentence.tsx'
import { Ago } from '../../ui/time.tsx'
import { describeRecord } from './describe-record.ts'
import type { Names } from './describe-record.ts'
import { toneOf } from './tone-of.ts'

const dots = { good: 'bg-accent', calm: 'bg-edge/60', theirs: 'bg-theirs', warn: 'bg-warn', bad: 'bg-danger' }

interface RecordLineProps {
  record: AuditRecord
  names: Names
  /** Instead of how long ago it was. */
  time?: ReactNode
}

/** One record: what happened and when. The dot's color repeats what the text says. */
export function RecordLine({ record, names, time }: RecordLineProps) {
  return (
    <div className="flex items-baseline gap-3 text-sm">
      <span aria-hidden="true" className={`size-2 shrink-0 -translate-y-px rounded-full ${dots[toneOf(record)]}`} />
      <div className="flex min-w-0 grow flex-wrap items-baseline justify-between gap-x-4">
        <p className="min-w-0 grow basis-48">
          <Sentence words={describeRecord(record, names)} />
        </p>
        <span className="shrink-0 text-quiet tabular-nums">{time ?? <Ago at={record.at} />}</span>
      </div>
    </div>
  )
}
