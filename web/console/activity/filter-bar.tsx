import { useState } from 'react'
import { Action } from '../../ui/action.tsx'
import { inputLook } from '../../ui/field.tsx'
import { focusHeading } from '../../ui/view.tsx'
import { useNewestGrants } from '../lists.ts'
import { kinds, outcomes } from './filters.ts'
import type { Filters } from './filters.ts'

interface FilterBarProps {
  filters: Filters
  onChange: (filters: Filters) => void
}

export function FilterBar({ filters, onChange }: FilterBarProps) {
  /** Undefined means the value in the URL. */
  const [typed, setTyped] = useState<string>()
  const q = typed ?? filters.q ?? ''
  const agents = useKnownAgents()
  const { agentId, grantId, connectionId, provider } = filters
  const isNarrowed = [agentId, grantId, connectionId, provider, filters.q, filters.kind, filters.outcome].some(Boolean)
  return (
    <div className="space-y-3">
      <form
        role="search"
        className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4"
        onSubmit={(event) => {
          event.preventDefault()
          setTyped(undefined)
          onChange(withOrWithout(filters, 'q', q.trim() || undefined))
        }}
      >
        <input
          type="search"
          aria-label="Search calls by method, host or path"
          placeholder="Method, host or path"
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
          {grantId && (
            <span>
              Grant <code className="font-mono text-xs">{grantId}</code>
            </span>
          )}
          {connectionId && (
            <span>
              Account <code className="font-mono text-xs">{connectionId}</code>
            </span>
          )}
          {provider && (
            <span>
              Provider <bdi>{provider}</bdi>
            </span>
          )}
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

/** Agents with the newest grants, by id. Names are not verified: two agents with the same name are told apart by id. */
function useKnownAgents(): Record<string, string> {
  const { data: grants } = useNewestGrants()
  const names = new Map((grants ?? []).map(({ agent }) => [agent.agent_id, agent.name]))
  const isShared = (name: string) => [...names.values()].filter((other) => other === name).length > 1
  return Object.fromEntries([...names].map(([id, name]) => [id, isShared(name) ? `${name} (${id})` : name]))
}
