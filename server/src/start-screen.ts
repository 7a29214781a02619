import { relative } from 'node:path'
import type { Config } from './platform/config.ts'
import { adminTokenFile } from './platform/instance.ts'
import type { Secret } from './platform/secret.ts'

/** What a person sees after `npm start`: where to go, where the admin token lies, and something to paste. */
export function startScreen(config: Config, loginUrl: Secret | undefined): string {
  const base = config.baseUrl.origin
  const token = adminTokenFile(config)
  const shownToken = token === undefined ? 'as SALLYPORT_ADMIN_TOKEN gives it' : nearestPath(token)
  return `
  Sallyport is ready at ${base}

  Console      ${loginUrl?.reveal() ?? `${base}/`}
               ${loginUrl ? 'signs you in as owner; works once, within 15 minutes' : 'sign in with a link from: POST /v4/auth/login-tokens'}
  Admin token  ${shownToken}
  Reference    ${base}/docs

  See a credential being kept from an agent: paste this into another terminal.

${sandboxLines(base)
  .map((line) => `    ${line}`)
  .join('\n')}

`
}

function nearestPath(file: string): string {
  const fromHere = relative(process.cwd(), file)
  return fromHere.startsWith('..') ? file : fromHere
}

/** Registers an agent, starts its sandbox and calls the echo through the proxy, with nothing but curl and grep. */
export function sandboxLines(base: string): string[] {
  return [
    `url=${base} json='content-type: application/json'`,
    `token=$(curl -s $url/v4/agents/register -H "$json" -d '{"name":"first try"}' | grep -o 'sp_agent_[0-9A-Za-z]*')`,
    `grant=$(curl -s -X POST $url/v4/sandbox/start -H "authorization: Bearer $token" | grep -o -m1 'grt_[0-9a-z]*' | head -1)`,
    `curl -s $url/v4/proxy -H "authorization: Bearer $token" -H "$json" -d '{"grant_id":"'$grant'","method":"GET","url":"'$url'/v4/sandbox/echo"}'`,
  ]
}
