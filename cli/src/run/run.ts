/** `sallyport run`: what a command needs to reach APIs through the service, for as long as it runs. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { AgentClient } from '@sallyport/sdk'
import { asAgent } from '../clients.ts'
import { credentialOf } from '../credentials.ts'
import { usageError } from '../failures.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { announceCalls } from './announce-calls.ts'
import { chooseGrants, providersOf } from './choose-grants.ts'
import type { WantedGrants } from './choose-grants.ts'
import { lookupBySystem } from './connect-directly.ts'
import { applied, runEnvironment } from './environment.ts'
import type { RunEnvironment } from './environment.ts'
import { createForward } from './forward-request.ts'
import { findGateway, reachGateway } from './gateway.ts'
import { startGhSocket } from './gh-socket.ts'
import { isFromProcessWith } from './java-peer.ts'
import { startListener } from './listener.ts'
import { oldNodeOf } from './node-version.ts'
import { makePrivateFolder } from './private-folder.ts'
import { endAs, findProgram, runProgram } from './program.ts'
import { makeRunCredential } from './run-credential.ts'
import { makeRunKey } from './run-key.ts'
import type { OtherHosts } from './target.ts'
import { writeTrust } from './trust.ts'
import { createWays } from './ways.ts'

interface RunOptions extends WantedGrants {
  'other-hosts': string | undefined
  'print-env': boolean
}

export async function runWithGrants(shell: Shell, options: RunOptions, program: string[]): Promise<number> {
  const [name] = program
  const printsEnv = options['print-env']
  if (name === undefined && !printsEnv) throw usageError('which command? Write it after --', example)
  if (name !== undefined && printsEnv) throw usageError('--print-env runs no command', example)
  const file = name === undefined ? undefined : findProgram(name, shell.env['PATH'])
  const agent = asAgent(shell)
  const endings: (() => unknown)[] = []
  try {
    const environment = await prepare(shell, agent, options, endings)
    if (file === undefined) return await serve(shell, environment)
    sayChanges(shell, environment)
    const oldNode = oldNodeOf(file, shell.env['PATH'])
    if (oldNode !== undefined) sayInRun(shell, oldNode)
    const ending = await runProgram(program, applied(shell.env, environment), shell.releaseSignals)
    process.once('exit', () => {
      endAs(ending)
    })
    return ending.code
  } finally {
    // The last one needs the service. What comes before it is gone even if that does not respond.
    for (const end of endings.reverse()) await end()
  }
}

const example = 'For example: sallyport run -- curl https://api.github.com/user'

/** Each part adds how it ends. */
async function prepare(
  shell: Shell,
  agent: AgentClient,
  options: RunOptions,
  endings: (() => unknown)[],
): Promise<RunEnvironment> {
  const { env, platform, interrupted: signal } = shell
  const otherHosts = (options['other-hosts'] ?? 'allow') as OtherHosts
  const grants = await chooseGrants(shell, agent, options)
  const grantIds = grants.map(({ grant_id }) => grant_id)
  const grantedHosts = [...new Set(grants.flatMap(({ allowed_hosts }) => allowed_hosts))]
  const [place, authority, providers] = await Promise.all([
    findGateway(agent, signal),
    agent.gatewayCertificates({ signal }),
    providersOf(shell, agent, grants, options),
  ])
  const key = await makeRunKey(agent, grantIds, signal)
  endings.push(key.end)
  const say = (line: string) => {
    sayInRun(shell, line)
  }
  const { baseUrl } = credentialOf(shell, 'agent')
  const gateway = await reachGateway({ ...place, key: key.secret }, baseUrl, say)
  const folder = makePrivateFolder()
  endings.push(folder.remove)

  const ways = createWays({
    gateway,
    grantedHosts,
    otherHosts,
    lookup: lookupBySystem,
    say,
  })
  const forward = createForward(ways, authority)
  endings.push(forward.close)
  const credential = makeRunCredential()
  const listener = await startListener({ ways, forward, isAllowed: credential.isIn })
  endings.push(listener.close)
  const isFromCommand = ({ socket }: { socket: Socket }) => isFromProcessWith(credential.secret, socket)
  const java = platform === 'linux' ? await startListener({ ways, forward, isAllowed: isFromCommand }) : undefined
  endings.push(() => java?.close())
  const gh = grantedHosts.includes('api.github.com') ? await startGhSocket(folder.path, forward) : undefined
  endings.push(() => gh?.close())
  endings.push(announceCalls(agent, { grantIds, since: key.createdAt, isInUse: ways.isGatewayInUse, say }))
  const trust = writeTrust(folder.path, env, authority)
  for (const name of trust.unread) say(`${name} names no file of certificates: the system's are used in its place`)
  return runEnvironment(env, {
    ...{ proxyUrl: credential.urlOf(listener.port), otherHosts, grants, providers, trust },
    javaPort: java?.port,
    ghConfigFolder: gh?.configFolder,
  })
}

/** Until Ctrl-C. */
async function serve({ output, interrupted }: Shell, { set }: RunEnvironment): Promise<number> {
  for (const [name, value] of Object.entries(set)) output.line(`${name}=${value}`)
  output.say('Serving the container until Ctrl-C. Mount the folder of SSL_CERT_FILE at the same path.')
  if (!interrupted.aborted) await once(interrupted, 'abort')
  return 0
}

function sayChanges(shell: Shell, { removed, replaced }: RunEnvironment): void {
  if (removed.length > 0) sayInRun(shell, `not passed on to the command: ${removed.sort().join(', ')}`)
  if (replaced.length > 0) sayInRun(shell, `placeholders replace the values of ${replaced.join(', ')}`)
}

/** A program that has set the terminal to raw mode needs the carriage return. */
function sayInRun({ output }: Shell, line: string): void {
  output.say(`${output.sayStyle('yellow', 'sallyport:')} ${inLine(line)}${process.stderr.isTTY ? '\r' : ''}`)
}
