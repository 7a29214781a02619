/**
 * Everything about a held call that a decision covers: who, with which account, what it does and the exact request. The
 * agent's own words stand apart, at the end.
 */
import { useId } from 'react'
import type { PersonCall } from '@sallyport/sdk'
import { CodeBox, Exactly, Quoting } from '../../ui/code-box.tsx'
import { Quotation } from '../../ui/quotation.tsx'
import { Badge, Section, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { accessWords, noSentence } from './describe-held-call.ts'

export function CallView({ call }: { call: PersonCall }) {
  return (
    <>
      <WhatItDoes call={call} />
      <Request call={call} />
      <AgentSays reason={call.reason} />
    </>
  )
}

export function Account({ call: { account_label: label, provider_name: provider } }: { call: PersonCall }) {
  const account = label === null ? 'your account' : <Theirs>{label}</Theirs>
  return provider === null ? (
    account
  ) : (
    <>
      {account} at <Theirs>{provider}</Theirs>
    </>
  )
}

const tones = { read: 'good', write: 'warn', destructive: 'bad' } as const

export function AccessBadge({ call: { access } }: { call: PersonCall }) {
  return <Badge tone={tones[access]}>{accessWords[access]}</Badge>
}

/** The sentence and the details have words of the call in them: they stay in their boxes too. */
function WhatItDoes({ call }: { call: PersonCall }) {
  const { sentence, details, access } = call
  return (
    <section
      aria-label="What it does"
      className={`space-y-3 rounded-xl border-2 bg-surface p-4 sm:p-5 ${access === 'destructive' ? 'border-danger' : 'border-accent'}`}
    >
      <div className="space-y-1 text-sm">
        <p>
          <span className="text-quiet">Agent</span> <Theirs>{call.agent.name}</Theirs>{' '}
          <Badge tone="warn">Unverified</Badge>
        </p>
        <p>
          <span className="text-quiet">Account</span> <Account call={call} />
        </p>
      </div>
      <p className="border-t border-line pt-3">
        <AccessBadge call={call} />
      </p>
      {sentence === null ? (
        <div>
          <p className="text-lg font-semibold">{noSentence}</p>
          <p className="text-sm text-quiet">Read the request below before you decide.</p>
        </div>
      ) : (
        <p
          dir="ltr"
          tabIndex={0}
          data-part="sentence"
          className="isolate max-h-60 overflow-auto text-lg font-semibold wrap-anywhere [unicode-bidi:isolate]"
        >
          <Quoting sentence={sentence} />
        </p>
      )}
      {details.length > 0 && (
        <dl className="space-y-2 border-t border-line pt-3 text-sm">
          {details.map(({ name, value }, index) => (
            <div key={`${name} ${index}`} className="sm:grid sm:grid-cols-[10rem_minmax(0,1fr)] sm:gap-4">
              <dt className="text-quiet">
                <Quoting sentence={name} />
              </dt>
              <dd className="min-w-0">
                <Bounded label={name} text={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

const longText = 200

function Bounded({ label, text }: { label: string; text: string }) {
  return (
    <span
      dir="auto"
      className="isolate block max-h-40 w-fit overflow-auto rounded-sm bg-ink/6 px-1 font-medium wrap-anywhere whitespace-pre-wrap [unicode-bidi:isolate]"
      {...(text.length > longText && { tabIndex: 0, role: 'group', 'aria-label': label })}
    >
      <Exactly text={text} />
    </span>
  )
}

function Request({ call }: { call: PersonCall }) {
  const { description, body } = call
  const { method, url, headers, adds, body_length: length } = description
  return (
    <Section title="The request">
      <CodeBox label="Method and URL" text={`${method} ${url}`} height="max-h-40" />
      <Body body={body} length={length} />
      <details className="text-sm">
        <summary className="min-h-10 py-2 font-medium text-accent">Headers ({headers.length})</summary>
        <CodeBox
          label="Headers"
          text={headers.length === 0 ? 'none' : headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
        />
        {adds.length > 0 && <p className="mt-2 text-quiet">Sallyport adds the credential: {adds.join(', ')}.</p>}
      </details>
    </Section>
  )
}

const kinds = { json: 'JSON', form: 'a form', text: 'text', binary: 'binary data' }

function Body({ body: { kind, text, is_cut: isCut }, length }: { body: PersonCall['body']; length: number }) {
  if (kind === 'none') return <p className="text-sm text-quiet">It has no body.</p>
  return (
    <div className="space-y-1">
      <p className="text-sm text-quiet">
        The body is {kinds[kind]}, {count(length, 'byte')}
        {isCut ? '. Only its beginning is shown:' : ':'}
      </p>
      {text !== '' && <CodeBox label="Body" text={text} />}
    </div>
  )
}

function AgentSays({ reason }: { reason: string | null }) {
  const id = useId()
  if (reason === null) return <p className="text-sm text-quiet">The agent gave no reason.</p>
  return (
    <section aria-labelledby={id} className="space-y-2">
      <h2 id={id} className="text-base font-semibold">
        The agent says
      </h2>
      <Quotation labelledBy={id}>{reason}</Quotation>
      <p className="text-sm text-quiet">These are the agent’s own words. They are not verified, and approve nothing.</p>
    </section>
  )
}
