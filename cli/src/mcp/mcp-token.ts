/** The token of the HTTP endpoint. A generated one is stored for the next start. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { configFolder, readPrivate, stagePrivate } from '../config-folder.ts'
import { checkedToken } from '../credentials.ts'
import type { Shell } from '../shell.ts'

export function mcpToken(shell: Shell): { token: string; place: string } {
  const variable = 'SALLYPORT_MCP_TOKEN'
  const given = shell.env[variable]?.trim()
  if (given) return { token: checkedToken(given, variable), place: variable }
  const place = join(configFolder(shell), 'mcp-token')
  const former = readPrivate(place, shell.platform)?.trim()
  if (former) return { token: checkedToken(former, place), place }
  const token = `sp_mcp_${randomBytes(32).toString('base64url')}`
  stagePrivate(place).keep(`${token}\n`)
  return { token, place }
}
