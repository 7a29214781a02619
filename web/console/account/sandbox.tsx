import { CopyButton } from '../../ui/copy-button.tsx'
import { Section } from '../../ui/view.tsx'
import { sandboxLines } from './sandbox-lines.ts'

export function Sandbox() {
  const lines = sandboxLines(location.origin)
  return (
    <Section title="Try the sandbox">
      <p className="max-w-prose text-sm text-quiet">
        See how a credential is kept from an agent. Paste these lines into a terminal: they register an agent, start its
        sandbox and call an echo endpoint through the proxy. The echo returns the request it received, and the agent
        sees <code>[REDACTED]</code> in place of the credential. A sandbox belongs to no user, so its calls are not in
        your Activity.
      </p>
      <div className="space-y-3 rounded-xl border border-line bg-surface p-4 sm:p-5">
        <pre className="space-y-2 font-mono text-xs whitespace-pre-wrap">
          {lines.map((line) => (
            <code key={line} className="block">
              {line}
            </code>
          ))}
        </pre>
        <CopyButton text={`${lines.join('\n')}\n`} />
      </div>
    </Section>
  )
}
