import type { AuditRecord } from '@sallyport/sdk'
import { Sentence } from '../../ui/sentence.tsx'
import { Ago } from '../../ui/time.tsx'
import { describeRecord } from './describe-record.ts'
import type { Names } from './describe-record.ts'
import { toneOf } from './tone-of.ts'

const dots = { good: 'bg-accent', calm: 'bg-edge/60', warn: 'bg-warn', bad: 'bg-danger' }

/** One record: what happened and when. The dot's color repeats what the text says. */
export function RecordLine({ record, names }: { record: AuditRecord; names: Names }) {
  return (
    <div className="flex items-baseline gap-3 text-sm">
      <span aria-hidden="true" className={`size-2 shrink-0 -translate-y-px rounded-full ${dots[toneOf(record)]}`} />
      <p className="min-w-0 grow">
        <Sentence words={describeRecord(record, names)} />
      </p>
      <span className="shrink-0 text-right text-quiet tabular-nums">
        <Ago at={record.at} />
      </span>
    </div>
  )
}
