/** Held calls and pending requests. Requests are decided on the linked page, which shows all details. */
import type { AccessRequest } from '@sallyport/sdk'
import { Link } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { unstacked } from '../../ui/others-text.ts'
import { Ago } from '../../ui/time.tsx'
import { Badge, Card, Section, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { useHeldCalls, useMutedAgents, useWaitingRequests } from '../lists.ts'
import { Calls } from './calls.tsx'
import { limitPerAgent } from './limit-per-agent.ts'

export function Waiting() {
  const requests = useWaitingRequests()
  const calls = useHeldCalls()
  return (
    <Section title="Waiting for you">
      <p aria-live="polite" className="sr-only">
        {[
          calls.data?.length ? `${count(calls.data.length, 'call is', 'calls are')} waiting for you. ` : '',
          requests.data?.length ? `${count(requests.data.length, 'request is', 'requests are')} waiting for you.` : '',
        ].join('')}
      </p>
      <Loaded query={calls}>{(held) => held.length > 0 && <Calls />}</Loaded>
      {/* One after the other, so that nothing moves. */}
      {!calls.isPending && (
        <Loaded query={requests}>
          {(waiting) =>
            waiting.length > 0 ? (
              <Requests waiting={waiting} />
            ) : (
              calls.data?.length === 0 && (
                <p className="text-sm text-quiet">
                  Nothing. New requests and calls appear here automatically. You can also{' '}
                  <Link href="/devices" className="font-semibold text-accent underline">
                    be notified
                  </Link>
                  .
                </p>
              )
            )
          }
        </Loaded>
      )}
    </Section>
  )
}

/** Those of muted agents come last, and out of the way. */
function Requests({ waiting }: { waiting: AccessRequest[] }) {
  const agents = useMutedAgents()
  // Requests that are shown already would move.
  if (agents.isPending) return null
  const muted = new Set(agents.data?.map(({ agent_id: id }) => id))
  const isMuted = ({ agent }: AccessRequest) => muted.has(agent.agent_id)
  const quiet = waiting.filter(isMuted)
  const heard = waiting.filter((request) => !isMuted(request))
  return (
    <>
      {heard.length > 0 && <First {...limitPerAgent(heard)} />}
      {quiet.length > 0 && (
        <details>
          <summary className="min-h-10 py-2 text-sm font-medium text-quiet">
            {count(quiet.length, 'request')} of agents that you denied or muted
          </summary>
          <div className="space-y-3 pt-2">
            <First {...limitPerAgent(quiet)} />
          </div>
        </details>
      )}
    </>
  )
}

function First({ shown, behind }: ReturnType<typeof limitPerAgent<AccessRequest>>) {
  return (
    <>
      <ul className="space-y-3">
        {shown.map((request) => (
          <li key={request.access_request_id}>
            <Request {...request} />
          </li>
        ))}
      </ul>
      {behind > 0 && (
        <p className="text-sm text-quiet">
          {count(behind, 'more request')} will appear as you decide. Only the first few of each agent are shown.
        </p>
      )}
    </>
  )
}

function Request({
  access_request_id: id,
  agent,
  provider_name: provider,
  verified,
  reason,
  expires_at,
}: AccessRequest) {
  return (
    <Card>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 grow basis-64 space-y-2">
          <p>
            <Theirs>{agent.name}</Theirs> is requesting access to <Theirs>{provider}</Theirs>
            {!verified && (
              <>
                {' '}
                <Badge tone="warn">unverified</Badge>
              </>
            )}
          </p>
          {reason === null ? (
            <p className="text-sm text-quiet">No reason given.</p>
          ) : (
            <figure className="space-y-1">
              <figcaption className="text-sm text-quiet">Reason, in the agent’s own words:</figcaption>
              <blockquote
                dir="auto"
                className="line-clamp-4 border-s-2 border-edge/50 ps-3 text-sm wrap-anywhere whitespace-pre-line"
              >
                {unstacked(reason)}
              </blockquote>
            </figure>
          )}
          <p className="text-sm text-quiet">
            Expires <Ago at={expires_at} />.
          </p>
        </div>
        <Link href={`/approve-proxy/${id}`} className={buttonLook('main')} aria-label={`Decide on ${agent.name}`}>
          Decide
        </Link>
      </div>
    </Card>
  )
}
