/** Asks for the members of a credential. What was entered is kept only until it is sent. */
import { useState } from 'react'
import type { ReactNode } from 'react'
import { maxFileLength } from '@sallyport/protocol/credential-members'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { FileField } from '../../ui/file-field.tsx'
import { faultOf as fieldFaultOf } from '../../ui/problem.ts'
import { Notice } from '../../ui/view.tsx'
import type { Connectable, Member, Method } from './connectable.ts'
import { faultOf, hostNamed, labelOf } from './describe-method.ts'
import type { Fault } from './describe-method.ts'

interface CredentialFormProps {
  provider: Pick<Connectable, 'name' | 'docs'>
  method: Method
  verb: string
  /** Also asks for a name of the account. */
  asksForName?: boolean
  /** What it means if the account is the reason for a refusal. */
  conflict: string
  send: (credential: Record<string, string>, label: string | undefined) => Promise<unknown>
  /** Shown above the button. */
  children?: ReactNode
}

export function CredentialForm(props: CredentialFormProps) {
  const { provider, method, verb, asksForName = false, conflict, send, children } = props
  const [values, setValues] = useState<Record<string, string>>({})
  const [name, setName] = useState('')
  const [fault, setFault] = useState<Fault>()
  const submit = async () => {
    setFault(undefined)
    const filled = method.members.filter((member) => !member.optional || (values[member.name] ?? '').trim() !== '')
    const credential = Object.fromEntries(filled.map((member) => [member.name, values[member.name] ?? '']))
    const label = name.trim() === '' ? undefined : name.trim()
    try {
      await send(credential, label)
    } catch (problem) {
      const inName = fieldFaultOf(problem, ['label'])
      const found = inName ? { member: 'label', text: inName.text } : undefined
      const wrong = found ?? faultOf(problem, method, { name: provider.name, conflict })
      if (!wrong) throw problem
      setFault(wrong)
    }
  }
  return (
    <Form>
      <Help method={method} docs={provider.docs} />
      {method.members.map((member) => (
        <MemberField
          key={`${method.name} ${member.name}`}
          member={member}
          method={method}
          problem={fault?.member === member.name ? fault.text : undefined}
          value={values[member.name] ?? ''}
          onChange={(value) => {
            setValues({ ...values, [member.name]: value })
          }}
        />
      ))}
      {asksForName && (
        <Field
          label="Name of the account (optional)"
          note="How you will recognize it, such as “Work”."
          maxLength={200}
          autoComplete="off"
          value={name}
          problem={fault?.member === 'label' ? fault.text : undefined}
          onChange={({ target }) => {
            setName(target.value)
          }}
        />
      )}
      {fault && fault.member === undefined && (
        <div role="alert">
          <Notice tone="bad">{fault.text}</Notice>
        </div>
      )}
      {children}
      <Action look="main" submits act={submit}>
        {verb}
      </Action>
    </Form>
  )
}

/** Where to get it. */
function Help({ method, docs: [page] }: { method: Method; docs: string[] }) {
  const host = page === undefined ? undefined : URL.parse(page)?.host
  if (method.help === null && host === undefined) return null
  return (
    <div className="space-y-1 text-sm text-quiet">
      <p className="font-semibold text-ink">Where to get it</p>
      {method.help !== null && <p>{method.help}</p>}
      {host !== undefined && (
        <p>
          <a href={page} target="_blank" rel="noopener noreferrer" className="font-semibold text-accent underline">
            Instructions on {host}
          </a>
        </p>
      )}
    </div>
  )
}

interface MemberFieldProps {
  member: Member
  method: Method
  problem: string | undefined
  value: string
  onChange: (value: string) => void
}

const fileTypes = { pem: '.pem,.key,.txt', json: '.json,application/json' }

function MemberField({ member, method, problem, value, onChange }: MemberFieldProps) {
  const label = `${labelOf(member, method)}${member.optional ? ' (optional)' : ''}`
  if (member.format !== 'text') {
    return (
      <FileField
        label={label}
        accept={fileTypes[member.format]}
        maxCharacters={maxFileLength}
        isSecret={member.secret}
        {...{ problem, value, onChange }}
      />
    )
  }
  const host = hostNamed(member, value)
  return (
    <Field
      label={label}
      note={
        host !== undefined && (
          <>
            Everything is sent to <bdi className="font-medium text-ink">{host}</bdi> only.
          </>
        )
      }
      type={member.secret ? 'password' : 'text'}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      problem={problem}
      value={value}
      onChange={({ target }) => {
        onChange(target.value)
      }}
    />
  )
}
