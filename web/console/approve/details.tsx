/** What is known of a request besides the question: who the agent claims to be, and exactly what it asked for. */
import type { AccessRequest, User } from '@sallyport/sdk'
import { Row, Rows } from '../../ui/rows.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Ago, Moment } from '../../ui/time.tsx'
import { Badge, Theirs } from '../../ui/view.tsx'
import { theirs } from '../../ui/words.ts'
import { Before } from './before.tsx'
import { isReading, isWildcard } from './reach.ts'

export function Details({ user, request }: { user?: User; request: AccessRequest }) {
  const { agent, provider, provider_name: name, verified } = request
  return (
    <Rows>
      <Row name="Agent">
        <p>
          <Theirs>{agent.name}</Theirs>
        </p>
        <AboutAgent {...(user && { user })} request={request} />
      </Row>
      <Row name="Provider">
        <p>
          <Theirs>{name || 'Unknown provider'}</Theirs>
        </p>
        {verified && provider !== null && <p className="mt-1 text-sm text-quiet">Set up by your administrator.</p>}
      </Row>
      <Row name="Requested access">
        <Wants request={request} />
      </Row>
      <Row name="Time">
        Requested <Ago at={request.created_at} />. Expires <Ago at={request.expires_at} />.
      </Row>
      {request.history && (
        <Row name="Past activity">
          <Before history={request.history} />
        </Row>
      )}
    </Rows>
  )
}

/** Anyone can register an agent with any name and any claim. */
function AboutAgent({ user, request: { agent, user_hint: hint } }: { user?: User; request: AccessRequest }) {
  const namesAnother = user && hint !== user.user_id && hint?.toLowerCase() !== user.email
  const owner = agent.registration?.claimed_owner ?? null
  return (
    <div className="mt-1 space-y-1 text-sm text-quiet">
      <p>
        The agent chose this name. Any agent can register itself; this one did on <Moment at={agent.registered_at} />.
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
        wide={methods?.includes('DELETE') ? 'can change and delete' : 'can change'}
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
