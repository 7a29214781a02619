/** Narrows, edits or extends a grant. Narrower terms apply at once; wider ones count as an approval. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { useSearch } from 'wouter'
import type { ChangeGrantBody, Grant, SallyportError } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form, Lines, inputLook } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { useSay } from '../../ui/message.tsx'
import { faultOf, isProblem } from '../../ui/problem.ts'
import { Sentence } from '../../ui/sentence.tsx'
import { count, listOf, listOfFew } from '../../ui/words.ts'
import { Exceptions } from '../approve/exceptions-form.tsx'
import { modes } from '../approve/terms.ts'
import { service } from '../service.ts'
import { changeOf, fields, termsOf } from './change-terms.ts'
import type { Fault, Terms } from './change-terms.ts'

export function useChangeGrant(grant: Grant) {
  const queries = useQueryClient()
  const { say, complain } = useSay()
  return async (change: ChangeGrantBody, text: string): Promise<void> => {
    try {
      await service.grants.change(grant.grant_id, change)
    } catch (problem) {
      if (!isProblem(problem, 'device_signature_required')) throw problem
      complain(
        'You approve on your devices only, so here a grant can only be narrowed. For more, the agent has to ask again.',
      )
      return
    }
    await Promise.all([['grants'], ['grant-usage']].map((queryKey) => queries.invalidateQueries({ queryKey })))
    say(text)
  }
}

/** The address of the grants' page with this editor open. */
export function editorOf({ grant_id: id }: Pick<Grant, 'grant_id'>): string {
  return `/grants?edit=${id}`
}

export function ChangeGrant({ grant }: { grant: Grant }) {
  const isMeant = new URLSearchParams(useSearch()).get('edit') === grant.grant_id
  const [isOpen, setIsOpen] = useState(isMeant)
  const place = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isMeant) place.current?.scrollIntoView({ block: 'start' })
  }, [isMeant])
  return (
    <details
      ref={place}
      open={isOpen}
      className="scroll-mt-20 text-sm"
      onToggle={({ currentTarget }) => {
        setIsOpen(currentTarget.open)
      }}
    >
      <summary className="min-h-10 py-2 font-medium text-accent">Tighten or edit</summary>
      {isOpen && (
        <div className="space-y-5 pt-2">
          <Tighten grant={grant} />
          <Edit key={JSON.stringify(termsOf(grant))} grant={grant} />
        </div>
      )}
    </details>
  )
}

function Tighten({ grant }: { grant: Grant }) {
  const change = useChangeGrant(grant)
  const usage = useQuery({
    queryKey: ['grant-usage', grant.grant_id],
    queryFn: ({ signal }) => service.grants.usage(grant.grant_id, { signal }),
    staleTime: 0,
  })
  return (
    <Loaded query={usage}>
      {({ calls, methods, paths, suggestion, complete_since: partial }) => {
        if (calls === 0) return <p className="text-quiet">It made no calls with this grant in the last 30 days.</p>
        return (
          <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg border border-line bg-raised px-3 py-2">
            <p className="min-w-0 flex-1 basis-64">
              In the last 30 days it made {partial === null ? count(calls, 'call') : `more than ${calls} calls`}:{' '}
              <Sentence words={[...listOf(methods), ...(paths ? [' on ', ...listOfFew(paths)] : [])]} />.
              {partial === null && !suggestion && ' The grant allows no more than that.'}
            </p>
            {suggestion && (
              <Action act={() => change(suggestion, 'The grant now allows only what was used.')}>Narrow to that</Action>
            )}
          </div>
        )
      }}
    </Loaded>
  )
}

const accesses: Record<Terms['access'], string> = {
  '': 'Read, change and delete',
  write: 'Read and change',
  read: 'Read only',
}

function Edit({ grant }: { grant: Grant }) {
  const change = useChangeGrant(grant)
  const [terms, setTerms] = useState(() => termsOf(grant))
  const [fault, setFault] = useState<Fault>()
  const become = (name: Exclude<keyof Terms, 'exceptions'>) => (value: string) => {
    setTerms({ ...terms, [name]: value })
  }
  const input = (name: 'methods' | 'calls' | 'date') => ({
    value: terms[name],
    problem: fault?.name === name ? fault.text : undefined,
    autoComplete: 'off',
    onChange: ({ target }: { target: { value: string } }) => {
      become(name)(target.value)
    },
  })
  const save = async () => {
    setFault(undefined)
    const edited = changeOf(grant, terms)
    if ('fault' in edited) {
      setFault(edited.fault)
      return
    }
    try {
      await change(edited.change, 'The grant was changed. It applies from now on.')
    } catch (problem) {
      const found = faultOf(problem, Object.values(fields))
      const name = (Object.keys(fields) as (keyof Terms)[]).find((one) => fields[one] === found?.field)
      if (!found || !name) throw problem
      const at = Number((problem as SallyportError).field?.split('.')[1])
      setFault({ name, text: found.text, ...(name === 'exceptions' && { at, part: 'exceptionPaths' }) })
    }
  }
  return (
    <Form>
      <div className="grid gap-4 sm:grid-cols-2">
        <Select label="When it makes calls" choices={modes} value={terms.mode} onChange={become('mode')} />
        <Select label="Permissions" choices={accesses} value={terms.access} onChange={become('access')} />
        <Field label="Methods" note="Leave blank for all it asked for." spellCheck={false} {...input('methods')} />
        <Field label="Call limit" note="Leave blank for no limit of yours." inputMode="numeric" {...input('calls')} />
        <At fault={fault} name="paths">
          <Lines
            label="Paths, one per line"
            note="Leave blank for all it asked for."
            name="paths"
            value={terms.paths}
            onChange={become('paths')}
          />
        </At>
        <At fault={fault} name="hosts">
          <Lines label="Hosts, one per line" name="hosts" value={terms.hosts} onChange={become('hosts')} />
        </At>
        <Field label="Expires" note="Leave blank for no expiry." type="datetime-local" {...input('date')} />
        <At fault={fault?.at === undefined ? fault : undefined} name="exceptions">
          <Exceptions
            rules={terms.exceptions}
            faults={fault?.name === 'exceptions' ? [fault] : []}
            onChange={(exceptions) => {
              setTerms({ ...terms, exceptions })
            }}
          />
        </At>
      </div>
      <Action look="main" submits act={save} label={`Save changes for ${grant.agent.name}`}>
        Save changes
      </Action>
    </Form>
  )
}

function At({ fault, name, children }: { fault: Fault | undefined; name: keyof Terms; children: ReactNode }) {
  return (
    <div className="space-y-1">
      {children}
      {fault?.name === name && (
        <p role="alert" className="text-sm font-medium text-danger">
          {fault.text}
        </p>
      )}
    </div>
  )
}

interface SelectProps {
  label: string
  choices: Record<string, string>
  value: string
  onChange: (value: string) => void
}

function Select({ label, choices, value, onChange }: SelectProps) {
  const id = useId()
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        {label}
      </label>
      <select
        id={id}
        className={inputLook}
        value={value}
        onChange={({ target }) => {
          onChange(target.value)
        }}
      >
        {Object.entries(choices).map(([choice, name]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
