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
      noValidate
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault()
        const input = form.current?.querySelector('input')
        const text = input?.value ?? ''
        const token = loginTokenIn(text)
        if (token) {
          offerLoginToken(token)
          return
        }
        setProblem(
          text.trim() === ''
            ? 'Paste your sign-in link or login token.'
            : 'That’s not a login token. They start with sp_login_.',
        )
        input?.focus()
      }}
    >
      <Field
        label="Sign-in link or login token"
        problem={problem}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder="sp_login_…"
      />
      <button className={buttonLook('main')}>Continue</button>
    </form>
  )
}
