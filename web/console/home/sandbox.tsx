import { Copy } from '../../ui/copy.tsx'
import { Section } from '../../ui/view.tsx'
import { sandboxLines } from './sandbox-lines.ts'

/** A first look that needs no account and no approval. */
export function Sandbox() {
  const lines = sandboxLines(location.origin)
  return (
    <Section
      title="Or try the sandbox first"
      note={
        <>
          See a credential being kept from an agent. Pasted into a terminal, these lines register an agent, start its
          sandbox and call an echo through the proxy. The echo answers with what reached it; where it shows the
          credential, the agent reads <code>[REDACTED]</code>.
        </>
      }
    >
      <pre
        // It scrolls, so the keyboard has to get at it.
        tabIndex={0}
        aria-label="Commands for the sandbox"
        role="region"
        className="overflow-x-auto rounded-xl border border-line bg-surface p-4 font-mono text-xs leading-6"
      >
        {lines.map((line) => (
          <code key={line} className="block">
            {line}
          </code>
        ))}
      </pre>
      <Copy text={`${lines.join('\n')}\n`} label="Copy the commands" />
    </Section>
  )
}
