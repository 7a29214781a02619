/** A client of the official package, and what its tools answer. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'

export interface Answer {
  isError?: boolean
  text: string
  /** What the tool says in JSON. */
  facts: any
}

export interface Session {
  client: Client
  use: (tool: string, args?: Record<string, unknown>, options?: object) => Promise<Answer>
}

/** All that tools said of their own: what is wrong, and what to do next. */
export const advice: string[] = []

export async function connected(client: Client, transport: Parameters<Client['connect']>[0]): Promise<Session> {
  await client.connect(transport)
  // From now on the client holds every structured answer against the schema of its tool.
  await client.listTools()
  return {
    client,
    use: async (name, args = {}, options) => {
      const result = await client.callTool({ name, arguments: args }, undefined, options)
      const [first] = result.content as { text: string }[]
      const text = first?.text ?? ''
      const isError = result.isError === true
      const facts: any = result.structuredContent ?? failureIn(text, isError)
      advice.push(...[facts?.error?.message, facts?.next].filter((said) => typeof said === 'string'))
      return { text, facts, ...(isError && { isError }) }
    },
  }
}

/** A failure's text is JSON, unless it is the protocol's own. */
function failureIn(text: string, isError: boolean): unknown {
  if (!isError || !text.startsWith('{')) return undefined
  return JSON.parse(text) as unknown
}
