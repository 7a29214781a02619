import { useId } from 'react'
import type { CreateLoginTokenReply } from '@sallyport/sdk'
import { CopyButton } from '../../ui/copy-button.tsx'
import { inputLook } from '../../ui/field.tsx'
import { Moment } from '../../ui/time.tsx'

export function IssuedLink({ issued }: { issued: CreateLoginTokenReply }) {
  const id = useId()
  return (
    <div className="w-full space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        Send this link to the user and no one else
      </label>
      <div className="flex gap-2">
        <input id={id} readOnly className={`${inputLook} font-mono text-xs`} value={issued.login_url} />
        <CopyButton text={issued.login_url} label="Copy the link" />
      </div>
      <p className="text-sm text-quiet">
        It expires <Moment at={issued.expires_at} /> and is shown only once.
      </p>
    </div>
  )
}
