/** A client of the official package, and the results of its tools. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'

export interface Answer {
  isError?: boolean
  text: string
  /** The structured result of the tool. */
  facts: any
}

export interface Session {
  client: Client
  use: (tool: string, args?: Record<string, unknown>, options?: object) => Promise<Answer>
}

/** All messages written by the tools themselves: errors and next steps. */
export const advice: string[] = []

export async function connected(client: Client, transport: Parameters<Client['connect']>[0]): Promise<Session> {
  await client.connect(transport)
  // From now on the client validates every structured result with its tool's schema.
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

/** The text of a tool error is JSON, except for errors of the protocol. */
function failureIn(text: string, isError: boolean): unknown {
  if (!isError || !text.startsWith('{')) return undefined
  return JSON.parse(text) as unknown
}
