import { useRef, useState } from 'react'
import { buttonLook } from '../../ui/action.tsx'
import { Field } from '../../ui/field.tsx'
import { loginTokenIn } from './address.ts'
import { offerLoginToken } from './arrival.ts'

export function TokenForm() {
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<string>()
  return (
    <form
      ref={form}
      className="max-w-prose space-y-3 rounded-xl border border-line bg-surface p-4 sm:p-5"
      onSubmit={(event) => {
        event.preventDefault()
        const input = form.current?.querySelector('input')
        const token = loginTokenIn(input?.value ?? '')
        if (token) {
          offerLoginToken(token)
          return
        }
        setProblem('That’s not a login token. They start with sp_login_.')
        input?.focus()
      }}
    >
      <Field
        label="Sign-in link or login token"
        problem={problem}
        required
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder="sp_login_…"
      />
      <button className={buttonLook('main')}>Continue</button>
    </form>
  )
}
