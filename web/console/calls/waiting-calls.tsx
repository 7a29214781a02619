/** Calls that wait together, by agent. Several can be decided at once, but no destructive one. */
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { DecideCallsReply, PersonCall } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Quoting } from '../../ui/code-box.tsx'
import { useSay } from '../../ui/message.tsx'
import { Badge, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { useGuard } from '../approve/use-guard.ts'
import { AccessBadge, Account } from './call-view.tsx'
import { Countdown } from './countdown.tsx'
import { isDestructive, noSentence, requestLine } from './describe-held-call.ts'
import { groupCalls, tellDecided } from './group-calls.ts'
import type { Group } from './group-calls.ts'

type Verdict = 'approve' | 'deny'

export interface WaitingCallsProps {
  calls: readonly PersonCall[]
  /** False if only a device may approve. */
  canApprove: boolean
  verbs: Record<Verdict, string>
  decide: (calls: readonly PersonCall[], verdict: Verdict) => Promise<DecideCallsReply>
  /** Opens one call. */
  linkTo: (call: PersonCall, children: ReactNode) => ReactNode
}

export function WaitingCalls({ calls, ...props }: WaitingCallsProps) {
  return groupCalls(calls).map((group) => <AgentCalls key={group.agent.agent_id} group={group} {...props} />)
}

type AgentCallsProps = Omit<WaitingCallsProps, 'calls'> & { group: Group }

function AgentCalls({ group: { agent, calls }, canApprove, verbs, decide, linkTo }: AgentCallsProps) {
  const { chosen, choose, clear } = useChosen(calls)
  const guard = useGuard(chosen.map(({ call_id: id }) => id).join())
  const { say, complain } = useSay()
  const selectable = calls.filter((call) => !isDestructive(call))
  const answer = (verdict: Verdict) => async () => {
    if (guard.isOnNow()) return
    const { text, isProblem } = tellDecided(verdict, await decide(chosen, verdict))
    clear()
    if (isProblem) complain(text)
    else say(text)
  }
  return (
    <section
      aria-label={`Calls of ${agent.name}`}
      className="rounded-xl border border-line bg-surface shadow-xs"
      data-part="calls"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 px-4 pt-3 pb-2 sm:px-5">
        <div className="min-w-0">
          <p>
            <Theirs>{agent.name}</Theirs> <Badge tone="warn">Unverified</Badge>
          </p>
          <p className="text-sm text-quiet">{count(calls.length, 'call')}</p>
        </div>
        {selectable.length > 1 && (
          <Action
            look="bare"
            act={() => {
              choose(chosen.length === selectable.length ? [] : selectable)
            }}
          >
            {chosen.length === selectable.length ? 'Select none' : `Select all ${selectable.length}`}
          </Action>
        )}
      </div>
      <ul className="divide-y divide-line border-t border-line">
        {calls.map((call) => (
          <li key={call.call_id} className="flex items-start gap-1 px-3 py-2 sm:px-4">
            {selectable.length > 1 && (
              <Selecting
                call={call}
                isChosen={chosen.some(({ call_id: id }) => id === call.call_id)}
                onChange={(isChosen) => {
                  const others = chosen.filter(({ call_id: id }) => id !== call.call_id)
                  choose(isChosen ? [...others, call] : others)
                }}
              />
            )}
            <div className="min-w-0 grow">{linkTo(call, <Line call={call} />)}</div>
          </li>
        ))}
      </ul>
      {chosen.length > 0 && (
        <div className="sticky bottom-16 flex short:static flex-wrap gap-3 rounded-b-xl border-t border-line bg-surface px-4 py-3 sm:px-5 lg:bottom-0">
          {canApprove && (
            <Action look="main" isHeld={guard.isOn} act={answer('approve')}>
              {verbs.approve} {chosen.length}
            </Action>
          )}
          <Action look="danger" isHeld={guard.isOn} act={answer('deny')}>
            {verbs.deny} {chosen.length}
          </Action>
        </div>
      )}
    </section>
  )
}

/** The chosen calls as they were shown when they were chosen, without those that wait no more. */
function useChosen(calls: readonly PersonCall[]) {
  const [all, choose] = useState<readonly PersonCall[]>([])
  const waiting = new Set(calls.map(({ call_id: id, digest }) => id + digest))
  return {
    chosen: all.filter(({ call_id: id, digest }) => waiting.has(id + digest)),
    choose,
    clear: () => {
      choose([])
    },
  }
}

interface SelectingProps {
  call: PersonCall
  isChosen: boolean
  onChange: (isChosen: boolean) => void
}

function Selecting({ call, isChosen, onChange }: SelectingProps) {
  if (isDestructive(call)) return <span aria-hidden="true" className="size-10 shrink-0" />
  return (
    <label className="grid size-10 shrink-0 place-items-center rounded-lg hover:bg-raised">
      <input
        type="checkbox"
        name="call"
        className="size-5"
        aria-label={`Select: ${call.sentence ?? requestLine(call)}`}
        checked={isChosen}
        onChange={({ target }) => {
          onChange(target.checked)
        }}
      />
    </label>
  )
}

function Line({ call }: { call: PersonCall }) {
  return (
    <>
      <span
        dir="ltr"
        className="isolate line-clamp-2 font-medium wrap-anywhere [unicode-bidi:isolate]"
        data-part="sentence"
      >
        {call.sentence === null ? (
          <>
            {noSentence} <code className="font-mono text-xs font-normal">{requestLine(call)}</code>
          </>
        ) : (
          <Quoting sentence={call.sentence} />
        )}
      </span>
      <span className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-quiet">
        <AccessBadge call={call} />
        <span className="min-w-0">
          <Account call={call} />
        </span>
        <Countdown to={call.expires_at} />
        {isDestructive(call) && <span>Decide on it separately.</span>}
      </span>
    </>
  )
}
