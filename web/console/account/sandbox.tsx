import { CopyButton } from '../../ui/copy-button.tsx'
import { Section } from '../../ui/view.tsx'
import { sandboxLines } from './sandbox-lines.ts'

export function Sandbox() {
  const lines = sandboxLines(location.origin)
  return (
    <Section title="Try the sandbox">
      <p className="max-w-prose text-sm text-quiet">
        See a credential being kept from an agent. Pasted into a terminal, these lines register an agent, start its
        sandbox and call an echo through the proxy. The echo answers with what reached it; where it shows the
        credential, the agent reads <code>[REDACTED]</code>.
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
