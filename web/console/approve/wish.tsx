/** The agent's claims and request. Shows clearly which text is the agent's. */
import { useId } from 'react'
import type { AccessRequest, User } from '@sallyport/sdk'
import { Quotation } from '../../ui/quotation.tsx'
import { Row, Rows } from '../../ui/rows.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Notice, Theirs } from '../../ui/view.tsx'
import { theirs } from '../../ui/words.ts'
import { unverifiedProvider } from './describe-terms.ts'
import { Before } from './before.tsx'
import { isReading, isWildcard } from './terms.ts'

export function Wish({ user, request }: { user?: User; request: AccessRequest }) {
  const { agent, provider, provider_name: name, verified } = request
  return (
    <Card>
      <Rows>
        <Row name="Agent">
          <p className="text-lg">
            <Theirs>{agent.name}</Theirs>
          </p>
          <AboutAgent {...(user && { user })} request={request} />
        </Row>
        <Row name="Provider">
          <p className="text-lg">
            <Theirs>{name || 'Unknown provider'}</Theirs>
          </p>
          {provider === null ? (
            <Aside>This provider has been deleted. You can only deny the request.</Aside>
          ) : (
            !verified && <Aside>{unverifiedProvider}</Aside>
          )}
          {verified && provider !== null && <p className="mt-1 text-sm text-quiet">Set up by your administrator.</p>}
        </Row>
        <Why reason={request.reason} />
        <Row name="Requested access">
          <Wants request={request} />
        </Row>
        {request.history && (
          <Row name="Past activity">
            <Before history={request.history} />
          </Row>
        )}
      </Rows>
    </Card>
  )
}

/** Anyone can register an agent with any name and any claim. */
function AboutAgent({ user, request: { agent, user_hint: hint } }: { user?: User; request: AccessRequest }) {
  const namesAnother = user && hint !== user.user_id && hint?.toLowerCase() !== user.email
  const owner = agent.registration?.claimed_owner ?? null
  return (
    <div className="mt-1 space-y-1 text-sm text-quiet">
      <p>
        <Badge tone="warn">Unverified</Badge> The agent chose this name. Any agent can register itself; this one did on{' '}
        <Moment at={agent.registered_at} />.
      </p>
      {owner !== null && (
        <p>
          It claims to belong to{' '}
          {agent.registration?.claims_you ? (
            'you. Any agent can claim this.'
          ) : (
            <Sentence words={[theirs(owner), '. This is not verified.']} />
          )}
        </p>
      )}
      {hint === null && <p>It didn’t name a user. You see this request because you opened its link.</p>}
      {hint !== null && namesAnother && (
        <p>
          <Sentence
            words={[
              'It asked for ',
              theirs(hint),
              ', who is not a user here. You see this request because you opened its link.',
            ]}
          />
        </p>
      )}
    </div>
  )
}

function Aside({ children }: { children: string }) {
  return (
    <div className="mt-2">
      <Notice>{children}</Notice>
    </div>
  )
}

function Why({ reason }: { reason: string | null }) {
  const id = useId()
  return (
    <Row name="Why" id={id}>
      <p className="text-sm text-quiet">{reason ? 'In the agent’s own words, not verified:' : 'No reason given.'}</p>
      {reason && (
        <div className="mt-2">
          <Quotation labelledBy={id}>{reason}</Quotation>
        </div>
      )}
    </Row>
  )
}

function Wants({ request }: { request: AccessRequest }) {
  const { hosts, methods, paths, max_calls: calls } = request
  return (
    <dl className="space-y-1.5 text-sm">
      <Want name="Hosts" texts={hosts} none="Not specified" isWide={isWildcard} wide="all subdomains" />
      <Want
        name="Methods"
        texts={methods}
        none="Not specified"
        isWide={(method) => !isReading(method)}
        wide="can change or delete"
      />
      <Want name="Paths" texts={paths} none="Any" />
      <Want name="Calls" texts={calls === null ? null : [calls.toLocaleString('en')]} none="No limit" />
    </dl>
  )
}

interface WantProps {
  name: string
  texts: string[] | null
  none: string
  isWide?: (text: string) => boolean
  wide?: string
}

function Want({ name, texts, none, isWide, wide }: WantProps) {
  // Long text scrolls, so it has to be reachable by keyboard.
  const isLong = (texts?.join().length ?? 0) > 200
  return (
    <div className="flex gap-3">
      <dt className="w-18 shrink-0 text-quiet">{name}</dt>
      <dd className="min-w-0">
        <div
          className="flex max-h-40 flex-wrap gap-x-2 gap-y-1 overflow-auto"
          {...(isLong && { tabIndex: 0, role: 'group', 'aria-label': `Requested ${name.toLowerCase()}` })}
        >
          {texts?.map((text) => (
            <span key={text} className="min-w-0">
              <Theirs>{text}</Theirs>
            </span>
          )) ?? none}
          {wide !== undefined && texts?.some((text) => isWide?.(text)) && <Badge tone="warn">{wide}</Badge>}
        </div>
      </dd>
    </div>
  )
}
