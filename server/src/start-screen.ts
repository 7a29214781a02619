import { userInfo } from 'node:os'
import { relative } from 'node:path'
import type { Config } from './config/config.ts'
import type { GatewayAddress } from './gateway/gateway.ts'
import { adminTokenFile } from './platform/operations/instance.ts'
import type { Secret } from './platform/secret.ts'

/** Who can read the output. */
export interface Audience {
  /** The user given with `--user`. */
  user: string | undefined
  mayHaveLink: boolean
  /** What is printed stays in a log that others may read. */
  isKept: boolean
}

/** Printed after `npm start`: the URLs, the path of the admin token, and commands to try. */
export function startScreen(
  config: Config,
  { user }: Audience,
  { loginUrl, gateway }: { loginUrl: Secret | undefined; gateway: GatewayAddress | undefined },
): string {
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
  Gateway      ${gateway ? `${gateway.tls ? 'https' : 'http'}://${gateway.host}:${gateway.port}, for tools that take a proxy` : 'off'}

  See how a credential is kept from an agent: paste this into another terminal. A sandbox belongs to no user, so
  its calls are not in your Activity.

${sandboxLines(base)
  .map((line) => `    ${line}`)
  .join('\n')}

`
}

/** Only running as a different user keeps an agent on this machine from reading the token. */
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
    // The uid has no name, as in a container.
    return 'this user'
  }
}

function nearestPath(file: string): string {
  const fromHere = relative(process.cwd(), file)
  return fromHere.startsWith('..') ? file : fromHere
}

/** Registers an agent, starts its sandbox and calls the echo through the proxy, with only curl and grep. */
export function sandboxLines(base: string): string[] {
  return [
    `url=${base} json='content-type: application/json'`,
    `token=$(curl -s $url/v4/agents/register -H "$json" -d '{"name":"first try"}' | grep -o 'sp_agent_[0-9A-Za-z]*')`,
    `grant=$(curl -s -X POST $url/v4/sandbox/start -H "authorization: Bearer $token" | grep -o -m1 'grt_[0-9a-z]*' | head -1)`,
    `curl -s $url/v4/proxy -H "authorization: Bearer $token" -H "$json" -d '{"grant_id":"'$grant'","method":"GET","url":"'$url'/v4/sandbox/echo"}'`,
  ]
}
