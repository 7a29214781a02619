import { userInfo } from 'node:os'
import { relative } from 'node:path'
import type { Config } from './config/config.ts'
import { adminTokenFile } from './platform/operations/instance.ts'
import type { Secret } from './platform/secret.ts'

/** Who reads the screen. */
export interface Audience {
  /** Whom the service was told to run as (`--user`). */
  user: string | undefined
  mayHaveLink: boolean
}

/** What a person sees after `npm start`: where to go, where the admin token lies, and something to paste. */
export function startScreen(config: Config, { user }: Audience, loginUrl: Secret | undefined): string {
  const base = config.baseUrl.origin
  const token = adminTokenFile(config)
  const shownToken = token === undefined ? 'from SALLYPORT_ADMIN_TOKEN' : nearestPath(token)
  return `
  Sallyport is ready at ${base}

  Console      ${loginUrl?.reveal() ?? `${base}/`}
               ${loginUrl ? 'signs you in as owner; works once, expires in 15 minutes' : 'sign in with a link from: POST /v4/auth/login-tokens'}
  Admin token  ${shownToken}
${readersOfToken(user)}
  Reference    ${base}/docs

  See how a credential is kept from an agent: paste this into another terminal.

${sandboxLines(base)
  .map((line) => `    ${line}`)
  .join('\n')}

`
}

/** An agent on this machine is kept from the token by nothing but the user that it runs as. */
function readersOfToken(user: string | undefined): string {
  const lines =
    user === undefined
      ? [
          `Every program that runs as ${ownName()} can read it and act as you, agents included.`,
          'To keep agents out, run the service as a dedicated user: sudo sallyport-server --user NAME',
        ]
      : [`Only programs that run as ${user} or root can read it. Do not run agents as either.`]
  return lines.map((line) => `               ${line}`).join('\n')
}

function ownName(): string {
  try {
    return userInfo().username
  } catch {
    // A user that no list of users has, as in a container.
    return 'this user'
  }
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
