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
      <Problem id={`${id}-problem`} text={problem} />
    </div>
  )
}

/** What is wrong with a field, below it. */
function Problem({ id, text }: { id: string; text: string | undefined }) {
  return (
    text && (
      <p id={id} role="alert" className="text-sm font-medium wrap-anywhere text-danger">
        {text}
      </p>
    )
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
  problem?: string | undefined
  maxLength?: number
  value: string
  onChange: (text: string) => void
}

/** A multi-line text field. */
export function Lines({ label, note, problem, onChange, ...rest }: LinesProps) {
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
      <textarea
        id={id}
        rows={3}
        className={inputLook}
        aria-invalid={problem ? true : undefined}
        aria-describedby={described || undefined}
        onChange={({ target }) => {
          onChange(target.value)
        }}
        {...rest}
      />
      <Problem id={`${id}-problem`} text={problem} />
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

interface ChoicesProps {
  legend: string
  problem?: string | undefined
  children: ReactNode
}

export function Choices({ legend, problem, children }: ChoicesProps) {
  const id = useId()
  return (
    <fieldset className="space-y-1" aria-describedby={problem ? id : undefined}>
      <legend className="mb-1 text-sm font-semibold">{legend}</legend>
      {children}
      <Problem id={id} text={problem} />
    </fieldset>
  )
}

/** One of a few short choices in a row. */
export function Chip({ label, ...input }: Omit<ChoiceProps, 'type' | 'note'>) {
  return (
    <label className="relative inline-flex min-h-9 items-center rounded-full border border-edge/50 px-3 text-sm font-medium hover:bg-raised has-checked:border-accent has-checked:bg-accent-soft has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent">
      <input type="radio" className="absolute inset-0 m-0 cursor-pointer opacity-0" {...input} />
      {label}
    </label>
  )
}
