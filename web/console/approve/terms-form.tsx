/** The form for the terms: when calls ask, and for how long. The rest is under “Adjust”. */
import type { ReactNode } from 'react'
import { Chip, Choice, Choices, Field, Lines } from '../../ui/field.tsx'
import { shortened } from '../../ui/others-text.ts'
import { Sentence } from '../../ui/sentence.tsx'
import { listOfFew } from '../../ui/words.ts'
import { Exceptions } from './exceptions-form.tsx'
import { Methods } from './methods.tsx'
import { Mode } from './mode.tsx'
import { isWildcard } from './reach.ts'
import { lastings, offerOf, problemAt } from './terms.ts'
import type { Asked, Choices as Chosen, Fault, Lasting } from './terms.ts'

export interface PartProps {
  asked: Asked
  choices: Chosen
  /** The only host that the chosen account's credential is sent to. */
  ownHost: string | null
  /** Those to be shown now. */
  faults: readonly Fault[]
  onChange: (choices: Chosen) => void
}

/** `children`: more to adjust. */
export function TermsForm({ children, ...props }: PartProps & { children?: ReactNode }) {
  return (
    <div className="space-y-4">
      <div className="grid gap-x-6 gap-y-3 sm:grid-cols-2">
        <Mode {...props} />
        <HowLong {...props} />
      </div>
      <Adjust {...props}>{children}</Adjust>
    </div>
  )
}

/** What the agent named is already chosen in it, so most people never need to open it. */
function Adjust({ children, ...props }: PartProps & { children: ReactNode }) {
  const { choices, faults, onChange } = props
  return (
    <details data-part="adjust" className="border-t border-line pt-3">
      <summary className="font-semibold text-accent">
        Adjust <span className="text-sm font-normal text-quiet">account, hosts, permissions and more</span>
      </summary>
      <div className="grid gap-6 pt-4 sm:grid-cols-2">
        <Hosts {...props} />
        <Methods {...props} />
        <div className="space-y-6">
          <Paths {...props} />
          <Calls {...props} />
        </div>
        <Exceptions
          rules={choices.exceptions}
          faults={faults.filter(({ name }) => name === 'exceptions')}
          onChange={(exceptions) => {
            onChange({ ...choices, exceptions })
          }}
        />
        {children}
      </div>
    </details>
  )
}

/** Focuses a field, wherever it is. */
export function focusField(form: HTMLElement | null, { name, at = 0, part }: Fault): void {
  const field = form?.querySelectorAll<HTMLElement>(`[name=${part ?? name}]`)[at]
  const closed = field?.closest('details')
  if (closed) closed.open = true
  field?.focus()
}

function Hosts({ asked, choices, ownHost, faults, onChange }: PartProps) {
  const { hosts, hasWildcard } = offerOf(asked)
  if (ownHost !== null)
    return (
      <Choices legend="Allowed hosts">
        <p className="px-2 wrap-anywhere">
          <bdi>{ownHost}</bdi>
          <span className="block text-sm text-quiet">the account’s own host</span>
        </p>
      </Choices>
    )
  return (
    <Choices legend="Allowed hosts" problem={problemAt(faults, 'hosts')}>
      <div className="max-h-80 overflow-y-auto">
        {hosts.map((host) => (
          <Choice
            key={host}
            type="checkbox"
            name="hosts"
            checked={choices.hosts.includes(host)}
            onChange={({ target }) => {
              const others = choices.hosts.filter((one) => one !== host)
              onChange({
                ...choices,
                hosts: target.checked ? hosts.filter((one) => one === host || others.includes(one)) : others,
              })
            }}
            label={<bdi>{host}</bdi>}
            note={isWildcard(host) && <span className="font-medium text-warn">all subdomains</span>}
          />
        ))}
      </div>
      {hasWildcard && (
        <div className="px-2 pt-1">
          <Field
            label="Or specific subdomains instead of a wildcard"
            name="hostsBelow"
            problem={problemAt(faults, 'hostsBelow')}
            value={choices.hostsBelow}
            placeholder={hosts.find(isWildcard)?.replace('*', 'name')}
            autoCapitalize="off"
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => {
              onChange({ ...choices, hostsBelow: target.value })
            }}
          />
        </div>
      )}
    </Choices>
  )
}

function Paths({ asked: { paths }, choices, faults, onChange }: PartProps) {
  const choose = (chosen: Chosen['paths']) => () => {
    onChange({ ...choices, paths: chosen })
  }
  return (
    <Choices legend="Allowed paths">
      <Choice
        type="radio"
        name="paths"
        checked={choices.paths === 'asked'}
        onChange={choose('asked')}
        label={paths ? 'Everything it asked for' : 'Any path'}
        note={paths && <Sentence words={listOfFew(paths.map((path) => shortened(path, 120)))} />}
      />
      <Choice
        type="radio"
        name="paths"
        checked={choices.paths === 'some'}
        onChange={choose('some')}
        label="Only these paths and everything under them"
      />
      {choices.paths === 'some' && (
        <div className="pl-9">
          <Lines
            label="Paths, one per line"
            name="somePaths"
            problem={problemAt(faults, 'somePaths')}
            value={choices.somePaths}
            onChange={(somePaths) => {
              onChange({ ...choices, somePaths })
            }}
          />
        </div>
      )}
    </Choices>
  )
}

function HowLong({ choices, faults, onChange }: PartProps) {
  return (
    <Choices legend="Duration">
      <div className="flex flex-wrap gap-2">
        {(Object.keys(lastings) as Lasting[]).map((lasting) => (
          <Chip
            key={lasting}
            name="lasting"
            checked={choices.lasting === lasting}
            onChange={() => {
              onChange({ ...choices, lasting })
            }}
            label={lastings[lasting]}
          />
        ))}
      </div>
      {choices.lasting === 'date' && (
        <div className="max-w-64 pt-2">
          <Field
            label="Expires"
            type="datetime-local"
            name="date"
            problem={problemAt(faults, 'date')}
            value={choices.date}
            onChange={({ target }) => {
              onChange({ ...choices, date: target.value })
            }}
          />
        </div>
      )}
    </Choices>
  )
}

function Calls({ asked: { max_calls: most }, choices, faults, onChange }: PartProps) {
  return (
    <div className="max-w-64">
      <Field
        label="Call limit"
        note={most === null ? 'Leave blank for no limit.' : `It asked for ${most.toLocaleString('en')}.`}
        name="calls"
        problem={problemAt(faults, 'calls')}
        inputMode="numeric"
        autoComplete="off"
        value={choices.calls}
        onChange={({ target }) => {
          onChange({ ...choices, calls: target.value })
        }}
      />
    </div>
  )
}
