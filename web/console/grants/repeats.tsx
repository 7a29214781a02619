/** What this grant's agent may call again without asking, because the user approved it so. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Grant, Repeat } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Quoting } from '../../ui/code-box.tsx'
import { useSay } from '../../ui/message.tsx'
import { useNow } from '../../ui/time.tsx'
import { focusHeading } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { Countdown } from '../calls/countdown.tsx'
import { service } from '../service.ts'

/** One request for all grants. An expired repeat sends no event, so it is left out here. */
function useRepeats() {
  const now = useNow()
  return useQuery({
    queryKey: ['calls', 'repeats'],
    queryFn: ({ signal }) => service.calls.repeats({ limit: 200 }, { signal }).all(),
    select: (repeats) => repeats.filter(({ expires_at: end, calls_left: left }) => Date.parse(end) > now && left > 0),
  })
}

export function Repeats({ grant: { grant_id: id } }: { grant: Grant }) {
  const { data: all = [] } = useRepeats()
  const repeats = all.filter(({ grant_id: of }) => of === id)
  if (repeats.length === 0) return null
  return (
    <div className="space-y-1 rounded-lg border border-line bg-raised px-3 py-2 text-sm">
      <p className="font-semibold">Runs again without asking</p>
      <ul className="divide-y divide-line">
        {repeats.map((repeat) => (
          <li key={repeat.repeat_id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-1.5">
            <One repeat={repeat} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function One({ repeat }: { repeat: Repeat }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const stop = async () => {
    await service.calls.revokeRepeat(repeat.repeat_id)
    await queries.invalidateQueries({ queryKey: ['calls'] })
    focusHeading()
    say('From now on, this call asks you again.')
  }
  return (
    <>
      <span className="min-w-0 grow basis-56">
        <span dir="ltr" className="isolate block wrap-anywhere [unicode-bidi:isolate]">
          <Quoting sentence={repeat.scope} />
        </span>
        <span className="text-quiet">
          {count(repeat.calls_left, 'call')}, <Countdown to={repeat.expires_at} />
        </span>
      </span>
      <Action act={stop} label={`Ask again before: ${repeat.scope}`}>
        Ask again
      </Action>
    </>
  )
}
