import { useId } from 'react'
import type { InputHTMLAttributes, ReactNode } from 'react'

export const inputLook =
  'min-h-10 w-full rounded-lg border border-edge bg-surface px-3 py-1.5 text-ink placeholder:text-quiet aria-invalid:border-danger'

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'className'> {
  label: string
  note?: ReactNode
  problem?: string | undefined
}

/** An input with its label, a note and an error message. */
export function Field({ label, note, problem, ...input }: FieldProps) {
  const id = useId()
  const described = [note && `${id}-note`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        {label}
      </label>
      {note && (
        <p id={`${id}-note`} className="text-sm text-quiet">
          {note}
        </p>
      )}
      <input
        id={id}
        className={inputLook}
        aria-invalid={problem ? true : undefined}
        aria-describedby={described || undefined}
        {...input}
      />
      {problem && (
        <p id={`${id}-problem`} role="alert" className="text-sm font-medium text-danger">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Groups fields: Enter in any of them triggers the button. */
export function Form({ children }: { children: ReactNode }) {
  return (
    <form
      noValidate
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
      }}
    >
      {children}
    </form>
  )
}

interface LinesProps {
  label: string
  name: string
  note?: ReactNode
  maxLength?: number
  value: string
  onChange: (text: string) => void
}

/** A multi-line text field. */
export function Lines({ label, note, onChange, ...rest }: LinesProps) {
  const id = useId()
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        {label}
      </label>
      {note && (
        <p id={`${id}-note`} className="text-sm text-quiet">
          {note}
        </p>
      )}
      <textarea
        id={id}
        rows={3}
        className={inputLook}
        aria-describedby={note ? `${id}-note` : undefined}
        onChange={({ target }) => {
          onChange(target.value)
        }}
        {...rest}
      />
    </div>
  )
}

interface ChoiceProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'className' | 'type'> {
  type: 'radio' | 'checkbox'
  label: ReactNode
  note?: ReactNode
}

export function Choice({ label, note, ...input }: ChoiceProps) {
  return (
    <label className="flex min-h-10 items-start gap-3 rounded-lg px-2 py-2 hover:bg-raised">
      <input className="mt-1 size-4 shrink-0" {...input} />
      <span className="min-w-0">
        {label} {note && <span className="text-sm text-quiet">{note}</span>}
      </span>
    </label>
  )
}

export function Choices({ legend, children }: { legend: string; children: ReactNode }) {
  return (
    <fieldset className="space-y-1">
      <legend className="mb-1 text-sm font-semibold">{legend}</legend>
      {children}
    </fieldset>
  )
}
