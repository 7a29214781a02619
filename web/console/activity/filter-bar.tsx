import { useEffect, useState } from 'react'
import { Action } from '../../ui/action.tsx'
import { inputLook } from '../../ui/field.tsx'
import { focusHeading, Theirs } from '../../ui/view.tsx'
import { useNewestGrants } from '../lists.ts'
import { kinds, outcomes } from './filters.ts'
import type { Filters } from './filters.ts'
import { useKnownAgents } from './use-known-agents.ts'
import { useNames } from './use-names.ts'

const typingMs = 300

interface FilterBarProps {
  filters: Filters
  onChange: (filters: Filters) => void
}

export function FilterBar({ filters, onChange }: FilterBarProps) {
  /** Undefined means the value in the URL. */
  const [typed, setTyped] = useState<string>()
  const q = typed ?? filters.q ?? ''
  const search = () => {
    onChange(withOrWithout(filters, 'q', q.trim() || undefined))
  }
  useEffect(() => {
    if (q.trim() === (filters.q ?? '')) return
    const timer = setTimeout(search, typingMs)
    return () => {
      clearTimeout(timer)
    }
  })
  const agents = useKnownAgents()
  const { agentId, grantId, connectionId, provider } = filters
  const isNarrowed = [agentId, grantId, connectionId, provider, filters.q, filters.kind, filters.outcome].some(Boolean)
  return (
    <div className="space-y-3">
      <form
        role="search"
        className="grid grid-cols-2 gap-3 lg:grid-cols-4 2xl:grid-cols-2"
        onSubmit={(event) => {
          event.preventDefault()
          search()
        }}
      >
        <input
          type="search"
          aria-label="Search calls by method, host or path"
          placeholder="Search calls"
          className={inputLook}
          value={q}
          maxLength={100}
          onChange={(event) => {
            setTyped(event.target.value)
          }}
        />
        <Select
          label="Type"
          all="All types"
          choices={kinds}
          value={filters.kind}
          onChange={(kind) => {
            onChange(withOrWithout(filters, 'kind', kind))
          }}
        />
        <Select
          label="Outcome"
          all="Any outcome"
          choices={outcomes}
          value={filters.outcome}
          onChange={(outcome) => {
            onChange(withOrWithout(filters, 'outcome', outcome))
          }}
        />
        <Select
          label="Agent"
          all="All agents"
          choices={agentId && !(agentId in agents) ? { ...agents, [agentId]: agentId } : agents}
          value={agentId}
          onChange={(agent) => {
            onChange(withOrWithout(filters, 'agentId', agent))
          }}
        />
      </form>
      {isNarrowed && (
        <p className="flex flex-wrap items-center gap-3 text-sm text-quiet">
          <OnlyOf filters={filters} />
          <Action
            look="bare"
            act={() => {
              setTyped(undefined)
              onChange({ span: filters.span })
              focusHeading()
            }}
          >
            Clear filters
          </Action>
        </p>
      )}
    </div>
  )
}

/** What a link from another page narrowed the list to. */
function OnlyOf({ filters: { grantId, connectionId, provider } }: { filters: Filters }) {
  const names = useNames()
  const { data: grants } = useNewestGrants()
  const grant = grants?.find(({ grant_id: id }) => id === grantId)
  const account = connectionId === undefined ? undefined : names.account(connectionId)
  return (
    <>
      {grantId && (
        <span>
          One grant
          {grant && (
            <>
              {' '}
              of <Theirs>{grant.agent.name}</Theirs> at <Theirs>{grant.provider_name ?? 'the sandbox'}</Theirs>
            </>
          )}
        </span>
      )}
      {connectionId && (
        <span>
          One account
          {account && (
            <>
              : {account.label !== null && <Theirs>{account.label}</Theirs>} at <Theirs>{account.provider}</Theirs>
            </>
          )}
        </span>
      )}
      {provider && (
        <span>
          Only <Theirs>{names.provider(provider) ?? provider}</Theirs>
        </span>
      )}
    </>
  )
}

function withOrWithout<K extends keyof Filters>(filters: Filters, name: K, value: Filters[K] | undefined): Filters {
  const rest = Object.fromEntries(Object.entries(filters).filter(([member]) => member !== name)) as Omit<Filters, K>
  return (value === undefined ? rest : { ...rest, [name]: value }) as Filters
}

interface SelectProps<Name extends string> {
  label: string
  all: string
  choices: Partial<Record<Name, string>>
  value: Name | undefined
  onChange: (name: Name | undefined) => void
}

function Select<Name extends string>({ label, all, choices, value, onChange }: SelectProps<Name>) {
  return (
    <select
      aria-label={label}
      className={inputLook}
      value={value ?? ''}
      onChange={(event) => {
        onChange(event.target.value === '' ? undefined : (event.target.value as Name))
      }}
    >
      <option value="">{all}</option>
      {(Object.entries(choices) as [Name, string][]).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  )
}
