/** The list: by day, repeats in a row as one line, new records announced while the user reads. */
import { useState } from 'react'
import { Link } from 'wouter'
import type { AuditRecord } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { formatTime } from '../../ui/time.tsx'
import { Empty, focusHeading } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import type { Names } from './describe-record.ts'
import { addressOf } from './filters.ts'
import type { Filters } from './filters.ts'
import { RecordLine } from './record-line.tsx'
import { daysOf } from './runs.ts'
import type { Run } from './runs.ts'
import { useListPlace } from './use-place.ts'
import { useNames } from './use-names.ts'
import { useRecords } from './use-records.ts'

export function Records({ filters }: { filters: Filters }) {
  const names = useNames()
  const { query, showMore } = useRecords(filters)
  const all = query.data?.records ?? []
  const { list, upTo, show } = useListPlace(addressOf(filters), all[0]?.audit_id)
  const shown = upTo === undefined ? all : all.filter(({ audit_id: id }) => id <= upTo)
  const fresh = all.slice(0, all.length - shown.length)
  return (
    <Loaded query={query} shape="rows">
      {({ cursor }) => (
        <div ref={list} className="min-w-0 space-y-6">
          <Fresh records={fresh} onShow={show} />
          {daysOf(shown, names).map(({ start, runs }) => (
            <section key={start} aria-label={dayName(start)} className="space-y-2">
              <h2 className="text-sm font-semibold text-quiet">{dayName(start)}</h2>
              <ul className="divide-y divide-line rounded-xl border border-line bg-surface">
                {runs.map((run) => (
                  // The oldest one stays while the run grows.
                  <li key={run.records.at(-1)?.audit_id}>
                    <OneRun run={run} names={names} />
                  </li>
                ))}
              </ul>
            </section>
          ))}
          {all.length === 0 && cursor === null && (
            <Empty title="No activity">Nothing matches. Choose a longer time range or clear the filters.</Empty>
          )}
          {all.length === 0 && cursor !== null && (
            <p className="py-4 text-center text-sm text-quiet">No matches so far. There is more to search.</p>
          )}
          {cursor !== null && (
            <div className="text-center">
              <Action act={showMore}>Show more</Action>
            </div>
          )}
        </div>
      )}
    </Loaded>
  )
}

/** On top of the list, so that nothing moves. */
function Fresh({ records, onShow }: { records: AuditRecord[]; onShow: () => void }) {
  const isCalls = records.every(({ event }) => event.startsWith('proxy.'))
  return (
    <div role="status" className="sticky top-18 z-10 mb-0 flex h-0 justify-center lg:top-4">
      {records.length > 0 && (
        <div className="h-fit rounded-lg bg-surface shadow-md">
          <Action
            look="main"
            act={() => {
              onShow()
              scrollTo(0, 0)
              // The button is gone.
              focusHeading()
            }}
          >
            {isCalls ? count(records.length, 'new call') : count(records.length, 'new entry', 'new entries')}
          </Action>
        </div>
      )}
    </div>
  )
}

const rowLook = 'block w-full px-4 py-2.5 text-start hover:bg-raised'

/** By the id of the oldest record. They are still open after a visit to one of the records. */
const opened = new Set<string>()

function OneRun({ run: { newest, records }, names }: { run: Run; names: Names }) {
  const id = records.at(-1)?.audit_id ?? ''
  const [isOpen, setIsOpen] = useState(() => opened.has(id))
  if (records.length === 1) {
    return (
      <Link href={`/activity/${newest.audit_id}`} className={rowLook}>
        <RecordLine record={newest} names={names} time={formatTime(newest.at)} />
      </Link>
    )
  }
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        className={rowLook}
        onClick={() => {
          if (isOpen) opened.delete(id)
          else opened.add(id)
          setIsOpen(!isOpen)
        }}
      >
        <RecordLine
          record={newest}
          names={names}
          time={
            <>
              {records.length.toLocaleString('en')} times, last at {formatTime(newest.at)}{' '}
              <span aria-hidden="true" className={`inline-block transition ${isOpen ? 'rotate-90' : ''}`}>
                ›
              </span>
            </>
          }
        />
      </button>
      {isOpen && (
        <ul className="mb-2 ms-9 me-4 columns-[9rem] gap-4 text-sm">
          {records.map(({ audit_id: id, at }) => (
            <li key={id}>
              <Link
                href={`/activity/${id}`}
                className="inline-block py-1 text-accent tabular-nums underline-offset-4 hover:underline"
              >
                <time dateTime={at}>{formatTime(at)}</time>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })

function dayName(start: number): string {
  const today = new Date().setHours(0, 0, 0, 0)
  if (start === today) return 'Today'
  const yesterday = new Date(today)
  yesterday.setDate(yesterday.getDate() - 1)
  return start === yesterday.getTime() ? 'Yesterday' : days.format(start)
}
