/** How an agent's tools make calls with a grant: commands and settings to copy. */
import type { Grant } from '@sallyport/sdk'
import { CopyBox } from '../../ui/copy-box.tsx'
import { baseUrlsOf, mcpConfig, runCommand } from './tool-settings.ts'

export function UseFromTool({ grant }: { grant: Grant }) {
  const { agent } = grant
  const baseUrls = baseUrlsOf(grant, location.origin)
  return (
    <details className="text-sm">
      <summary className="min-h-10 py-2 font-medium text-accent">Use it from a tool</summary>
      <div className="space-y-5 pt-2">
        <p className="text-quiet">
          For the machine where <bdi>{agent.name}</bdi> runs. The credential of the account stays here: the service adds
          it to each call.
        </p>
        <Way
          title="Run a command"
          lead="git, gh, curl, aws and programs in Python or Node need no settings of their own."
          texts={[runCommand(grant)]}
          copies={`the command for ${agent.name}`}
        />
        {baseUrls.length > 0 && (
          <Way
            title="Change the base URL"
            lead="For a tool or SDK that lets you choose one. In place of its API key it gets a key that the agent makes for its tools."
            texts={baseUrls}
            copies={`the base URL for ${agent.name}`}
          />
        )}
        <Way
          title="Add an MCP server"
          lead="For an app that speaks the Model Context Protocol. It calls with all grants of its agent, and asks you for more by itself."
          texts={[mcpConfig()]}
          copies={`the MCP settings for ${agent.name}`}
        />
      </div>
    </details>
  )
}

function Way({ title, lead, texts, copies }: { title: string; lead: string; texts: string[]; copies: string }) {
  return (
    <section className="space-y-1.5">
      <h3 className="font-semibold">{title}</h3>
      <p className="text-quiet">{lead}</p>
      {texts.map((text, index) => (
        <CopyBox
          key={text}
          label={title}
          text={text}
          copies={`Copy ${copies}${index === 0 ? '' : ` (${index + 1})`}`}
        />
      ))}
    </section>
  )
}
