/** `npm start -- --demo`: the service, with a demo provider to connect. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { mailPath } from './acorn/mail-api.ts'
import type { Acorn } from './acorn/server.ts'
import { isRunning, keepRun, lastRun, makeAnew } from './folder.ts'
import { anyFreePort, isFree } from './ports.ts'
import { startScreen } from './screen.ts'
import { startService } from './start-service.ts'
import type { Service } from './start-service.ts'
import { DemoRefused, readDemoSettings } from './settings.ts'
import type { DemoSettings } from './settings.ts'
import { shortPath } from './terminal.ts'

const provider = 'acorn'
const usualPort = 8787
const linkSeconds = 3600

/** Resolves to the exit code. */
export async function runDemo(words: string[], env: NodeJS.ProcessEnv): Promise<number> {
  process.umask(0o077)
  try {
    return await run(readDemoSettings(words, env))
  } catch (error) {
    if (!(error instanceof DemoRefused)) throw error
    process.stderr.write(`Demo: ${error.message}\n`)
    return 1
  }
}

async function run(settings: DemoSettings): Promise<number> {
  const { folder } = settings
  const before = lastRun(folder)
  if (before && (await isRunning(before))) {
    throw new DemoRefused(`a demo is already running at ${before.baseUrl}. Stop it with Ctrl-C first.`)
  }
  const port = await choosePort(settings)
  // Before Acorn takes a port beside the service's.
  const gatewayPort = (await isFree(port + 1)) ? port + 1 : await anyFreePort()
  const { startAcorn } = await loadAcorn()
  makeAnew(folder)
  if (settings.ignored.length > 0) process.stderr.write(`Demo: ignored settings: ${settings.ignored.join(', ')}\n`)
  const runId = randomBytes(16).toString('hex')
  const redirectUri = `http://localhost:${port}/v4/oauth/callback/${provider}`
  const acorn = await startAcorn({ folder, nearPort: port + 1, redirectUri, runId })
  try {
    return await serveBeside(acorn, { ...settings, port, gatewayPort, runId })
  } finally {
    await acorn.close()
  }
}

/** It needs a development dependency, which `npm ci --omit=dev` leaves out. */
async function loadAcorn() {
  try {
    return await import('./acorn/server.ts')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new DemoRefused('a package is missing: the demo needs development dependencies. Run npm ci without --omit.')
  }
}

async function choosePort({ port }: DemoSettings): Promise<number> {
  if (port === undefined) return (await isFree(usualPort)) ? usualPort : anyFreePort()
  if (await isFree(port)) return port
  throw new DemoRefused(`port ${port} is in use. Set PORT to another one, or leave it out.`)
}

async function serveBeside(
  acorn: Acorn,
  wish: DemoSettings & { port: number; gatewayPort: number; runId: string },
): Promise<number> {
  const { folder, port, gatewayPort, runId, env } = wish
  const reach = [new URL(acorn.origin).host, new URL(acorn.pages).host].join(',')
  let stop = (): void => process.exit(1)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      stop()
    })
  const service = await startService({
    port,
    folder: join(folder, 'service'),
    env: {
      ...env,
      SALLYPORT_GATEWAY_PORT: String(gatewayPort),
      SALLYPORT_EGRESS_ALLOW: reach,
      SALLYPORT_EGRESS_CA_FILE: acorn.caFile,
      SALLYPORT_LOGIN_TOKEN_SECONDS: String(linkSeconds),
    },
  })
  if (!('stop' in service)) return service.ended
  stop = service.stop
  try {
    await addProvider(service, acorn)
    const userId = await ownerOf(service)
    keepRun(folder, {
      runId,
      baseUrl: service.baseUrl,
      userId,
      provider,
      acorn: { pages: acorn.pages, origin: acorn.origin },
    })
    process.stdout.write(
      startScreen({
        link: service.link,
        mail: acorn.pages,
        api: acorn.origin + mailPath,
        adminToken: shortPath(service.adminTokenFile),
        folder: shortPath(folder),
        baseUrl: service.baseUrl,
      }),
    )
  } catch (error) {
    service.stop()
    process.stderr.write(`Demo: ${String(error)}\n`)
    await service.ended
    return 1
  }
  return service.ended
}

async function addProvider(service: Service, { origin, client, scopes }: Acorn): Promise<void> {
  await service.asAdmin('/v4/providers', {
    provider_name: 'Acorn (demo)',
    slug: provider,
    issuer_url: origin,
    scopes,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  })
}

/** The user that the agent asks; the link on the start screen signs in the same one. */
async function ownerOf(service: Service): Promise<string> {
  const { users } = (await service.asAdmin('/v4/users')) as { users: { user_id: string }[] }
  return users[0]?.user_id ?? ''
}

if (import.meta.main) process.exitCode = await runDemo(process.argv.slice(2), process.env)
