/**
 * The whole journey of a credential, without a terminal: this page acts as an agent. The agent's token stays in the
 * page's memory.
 */
import { useRef, useState } from 'react'
import { createAgentClient, registerAgent } from '@sallyport/sdk'
import type { AgentClient, Echo } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { CodeBox } from '../../ui/code-box.tsx'
import { useSay } from '../../ui/message.tsx'
import { Section } from '../../ui/view.tsx'

const stages = [
  'Registered an agent. Its token alone grants nothing.',
  'Started its sandbox: a grant with a made-up credential.',
  'Called an echo through the service, which added the credential on the way.',
]

export function TrySandbox() {
  const { say } = useSay()
  const agent = useRef<AgentClient>(undefined)
  const [done, setDone] = useState(0)
  const [answer, setAnswer] = useState<string>()
  const go = async () => {
    setAnswer(undefined)
    setDone(0)
    agent.current ??= await register()
    setDone(1)
    const { grant_id, echo_url } = await agent.current.sandbox()
    setDone(2)
    const { status, body } = await agent.current.proxy({ grant_id, method: 'GET', url: echo_url })
    setDone(3)
    setAnswer(`${status}\n${JSON.stringify(received(body as Echo), null, 2)}`)
    say('The agent’s call was answered.')
  }
  return (
    <Section
      title="Try it in a sandbox"
      note="This page acts as an agent and makes one call. The agent’s token is forgotten when you leave."
    >
      <div className="grid justify-items-start gap-4 rounded-xl border border-line bg-surface p-4 sm:p-5">
        <Action look="main" act={go}>
          {answer === undefined ? 'Run the sandbox' : 'Run it again'}
        </Action>
        {done > 0 && (
          <ol className="space-y-1 text-sm text-quiet">
            {stages.slice(0, done).map((stage) => (
              <li key={stage} className="flex gap-2">
                <span aria-hidden="true" className="font-semibold text-accent">
                  ✓
                </span>
                {stage}
              </li>
            ))}
          </ol>
        )}
        {answer !== undefined && (
          <>
            <p className="max-w-prose text-sm text-quiet">
              What the agent got back. The echo repeats the request that it received, so it had the credential; the
              agent sees <code className="text-ink">[REDACTED]</code> in its place.
            </p>
            <div className="w-full min-w-0">
              <CodeBox label="The answer that the agent got" text={answer} />
            </div>
          </>
        )}
      </div>
    </Section>
  )
}

async function register(): Promise<AgentClient> {
  const baseUrl = location.origin
  const { access_token: token } = await registerAgent({ baseUrl, name: 'Sandbox in the console' })
  return createAgentClient({ baseUrl, token })
}

/** Without what any request has. */
function received({ method, path, headers }: Echo) {
  return { method, path, headers: { authorization: headers['authorization'] } }
}
