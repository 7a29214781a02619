/** A form with a text field for each member of a provider. A value that the service rejects is marked with the reason. */
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Field, Form } from '../../ui/field.tsx'
import { faultOf } from '../../ui/problem.ts'

export interface ProviderField<Name extends string> {
  name: Name
  label: string
  note?: string
  type?: string
}

interface ProviderFieldsProps<Name extends string> {
  fields: readonly ProviderField<Name>[]
  initial: Record<Name, string>
  /** `clear` restores the initial values. */
  save: (values: Record<Name, string>, clear: () => void) => Promise<void>
  /** Renders the button with its action. */
  button: (act: () => Promise<void>) => ReactNode
}

export function ProviderFields<Name extends string>({ fields, initial, save, button }: ProviderFieldsProps<Name>) {
  const [values, setValues] = useState(initial)
  const [fault, setFault] = useState<{ field: Name; text: string }>()
  const act = async () => {
    setFault(undefined)
    try {
      await save(values, () => {
        setValues(initial)
      })
    } catch (problem) {
      const names = fields.map(({ name }) => name)
      const found = faultOf(problem, names)
      if (!found) throw problem
      setFault(found)
    }
  }
  return (
    <Form>
      {fields.map(({ name, label, ...more }) => (
        <Field
          key={name}
          label={label}
          {...more}
          value={values[name]}
          problem={fault?.field === name ? fault.text : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setValues({ ...values, [name]: event.target.value })
          }}
        />
      ))}
      {button(act)}
    </Form>
  )
}

/** Splits values separated by spaces or commas, without duplicates. */
export function listOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((one) => one !== ''))]
}
