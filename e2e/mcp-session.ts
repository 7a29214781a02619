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

export async function connected(client: Client, transport: Parameters<Client['connect']>[0]): Promise<Session> {
  await client.connect(transport)
  return {
    client,
    use: async (name, args = {}, options) => {
      const result = await client.callTool({ name, arguments: args }, undefined, options)
      const [first] = result.content as { text: string }[]
      const text = first?.text ?? ''
      return { text, facts: result.structuredContent, ...(result.isError === true && { isError: true }) }
    },
  }
}
