/** Turns e-mail on and off, where the service sends any. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Action } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { Section } from '../../ui/view.tsx'
import { service } from '../service.ts'

export function Mail() {
  const queries = useQueryClient()
  const { say } = useSay()
  const { data: mail } = useQuery({ queryKey: ['mail'], queryFn: ({ signal }) => service.mail.get({ signal }) })
  if (!mail?.available) return null
  const { address, on } = mail
  const change = async () => {
    queries.setQueryData(['mail'], await (on ? service.mail.turnOff() : service.mail.turnOn()))
    say(on ? 'You get no more e-mail.' : 'E-mail is on.')
  }
  return (
    <Section
      title="E-mail"
      note="About new requests for access, and calls that were refused: at most one in 10 minutes, and one an hour about refused calls. It names agents, and nothing of a call."
    >
      {address === null ? (
        <p className="text-sm">You have no e-mail address here. Ask the administrator of this service to add one.</p>
      ) : (
        <div className="flex flex-wrap items-center gap-3">
          <Action act={change}>{on ? 'Turn off e-mail' : 'Turn on e-mail'}</Action>
          <span className="text-sm text-quiet">
            {on ? 'It goes to' : 'It would go to'} <bdi className="font-medium text-ink">{address}</bdi>.
          </span>
        </div>
      )}
    </Section>
  )
}
