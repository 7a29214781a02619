/**
 * Starts the service: configuration, database, keys, app, port. Stops it gracefully. If several processes share the
 * port, each worker is a full instance. workers.ts has the primary process.
 */
import { fstatSync } from 'node:fs'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from './app.ts'
import type { App } from './running-app.ts'
import { systemClock } from './platform/clock.ts'
import { readConfig, unknownSettings } from './config/config.ts'
import { isLoopback } from './platform/config/platform-settings.ts'
import type { Config } from './config/config.ts'
import { migrate } from './migrations/migrations.ts'
import type { Database } from './platform/database/database.ts'
import { followDatabaseClock } from './platform/database/database-clock.ts'
import type { DatabaseClock } from './platform/database/database-clock.ts'
import { waitForDatabase } from './platform/database/wait-for-database.ts'
import { createEgress } from './platform/egress/egress.ts'
import { egressProxyOf } from './platform/egress/egress-settings.ts'
import type { Egress } from './platform/egress/egress.ts'
import { ServiceError } from './platform/errors.ts'
import { createCertificateReloads } from './platform/http/certificate-reloads.ts'
import type { CertificateReloads } from './platform/http/certificate-reloads.ts'
import {
  backlog,
  closeOtherLoopback,
  listenOnOtherLoopback,
  mainAddress,
  rereadCertificate,
} from './platform/http/listener.ts'
import { serveMetrics } from './platform/http/operations-routes.ts'
import { masterKeySource, openDatabase, prepareDataDirectory, readAdminToken } from './platform/operations/instance.ts'
import { createLog } from './platform/operations/log.ts'
import type { Log } from './platform/operations/log.ts'
import type { Secret } from './platform/secret.ts'
import { openVault } from './platform/vault/vault.ts'
import { generateReference } from './reference/openapi-routes.ts'
import { isForThisMachine } from './sessions/operator.ts'
import { ignoreOtherSignals, onReload, onStopSignal } from './signals.ts'
import { startScreen } from './start-screen.ts'
import { readVersion } from './version.ts'
import type { Audience } from './start-screen.ts'
import { linkToFirstProcess } from './worker-link.ts'
import type { FirstProcess } from './worker-link.ts'
import { isWorker, runWorkers } from './workers.ts'

const minuteMs = 60_000
/** Calls in progress are aborted within a second of the end of their grant. */
const killSwitchMs = 500
/** Event streams get changes within about a second. */
const listenersMs = 1_000
/** Extra time for background jobs during a stop: if a refresh is interrupted, its tokens are lost for good. */
const jobsPatienceMs = 20_000
/** Time to record calls that were aborted. */
const cutOffPatienceMs = 5_000

/** `user`: the user that `--user` named, as which the process already runs. */
export async function serve(env: NodeJS.ProcessEnv, user?: string): Promise<void> {
  process.umask(0o077)
  const config = readConfig(env)
  const audience = audienceOf(config, env, user)
  const log = createLog(config, process.stderr, readVersion())
  ignoreOtherSignals(log)
  const unknown = unknownSettings(env)
  if (config.workers > 1 && isWorker) {
    await serveCalls(config, audience, unknown, log, linkToFirstProcess())
    return
  }
  for (const name of unknown) log.warn({ name }, 'unknown setting; is it misspelled?')
  if (config.workers === 1) {
    await serveCalls(config, audience, unknown, log)
    return
  }
  // Migrations and keys are done once, before workers start.
  const { database } = await openInstance(config, log)
  await database.close()
  await runWorkers(config, log)
}

/** Waits for the database, except in a worker: the primary process restarts it. */
async function openInstance(config: Config, log: Log, isWorker = false) {
  if (!config.databaseUrl.isSet) prepareDataDirectory(config)
  const adminToken = readAdminToken(config)
  const keys = masterKeySource(config)
  const masterKeys = await keys.read()
  if (!isWorker && config.databaseUrl.isSet) await migrateOnceThere(config, log)
  else await migrateDatabase(config)
  const database = openDatabase(config, { log })
  let isFirstRead = true
  const readMasterKeys = () => {
    if (!isFirstRead) return keys.read()
    isFirstRead = false
    return masterKeys
  }
  const clock = await followDatabaseClock(database, systemClock)
  const vault = await openVault({ database, readMasterKeys, clock: clock.now })
  return { adminToken, database, vault, clock }
}

async function migrateOnceThere(config: Config, log: Log): Promise<void> {
  const listenNoLonger = onStopSignal((signal) => {
    log.info({ signal }, 'stopped before the database was ready')
    process.exit(0)
  })
  try {
    await waitForDatabase(() => migrateDatabase(config), log)
  } finally {
    listenNoLonger()
  }
}

async function migrateDatabase(config: Config): Promise<void> {
  const database = openDatabase(config, { hasNoLimits: true })
  try {
    await database.assertOwnSessions?.()
    await migrate(database, systemClock)
  } finally {
    await database.close()
  }
}

async function serveCalls(
  config: Config,
  audience: Audience,
  unknownSettings: readonly string[],
  log: Log,
  firstProcess?: FirstProcess,
): Promise<void> {
  const instance = await openInstance(config, log, firstProcess !== undefined)
  const { egressAllow, egressCaFile, workers } = config
  const trusted = egressCaFile && { ca: egressCaFile.pem }
  const egress = createEgress({
    allow: egressAllow,
    proxy: egressProxyOf(config),
    userAgent: `Sallyport/${readVersion()}`,
    processes: workers,
    ...trusted,
  })
  const { clock } = instance
  const given = { config, unknownSettings, ...instance, egress, clock: clock.now, clockOffsetMs: clock.offsetMs, log }
  const app = await createApp({
    ...given,
    ...(firstProcess && { figuresOfAll: firstProcess.figuresOfAll, crew: firstProcess.crew }),
  })
  await app.http.ready()
  generateReference(app.http)
  await app.http.listen({ host: mainAddress(config), port: config.port, backlog })
  const loopback = await listenOnOtherLoopback(app.http.server, config, log)
  await app.gateway.listen()
  const metricsServer =
    config.metricsPort === undefined ? undefined : await serveMetrics(app.metrics, config.metricsPort, config, log)
  const certificate = createCertificateReloads(config, log, () => {
    app.gateway.rereadCertificate()
    return rereadCertificate(app.http.server, config)
  })
  onReload((signal) => {
    certificate.reload({ signal })
  })
  const { timers, killSwitch } = startTimers(app, clock, log, certificate)
  const { database } = instance
  const running = { app, config, audience, database, egress, log, loopback, metricsServer, timers, killSwitch }
  if (firstProcess) {
    serveAsWorker(running, firstProcess)
    return
  }
  let isStopping = false
  onStopSignal((signal) => {
    // A second signal exits immediately.
    if (isStopping) process.exit(1)
    isStopping = true
    stop(running, signal)
  })
  await announce(running)
}

/**
 * A service manager or terminal may signal every process, and the primary process sends a message too. Stop only once.
 */
function serveAsWorker(running: Running, firstProcess: FirstProcess): void {
  let isStopping = false
  const stopOnce = (signal?: string) => {
    if (isStopping) return
    isStopping = true
    stop(running, signal)
  }
  onStopSignal(stopOnce)
  firstProcess.ready({
    announce: () => {
      announce(running).catch((error: unknown) => {
        running.log.error({ err: error }, 'the start screen could not be shown')
      })
    },
    stop: stopOnce,
    figures: () => running.app.metrics.registry.getMetricsAsJSON(),
  })
}

async function announce({ app, config, audience }: Pick<Running, 'app' | 'config' | 'audience'>): Promise<void> {
  // A link that is kept in a log, or that works from elsewhere, is not for the operator.
  const isOperator = isForThisMachine(config) && !audience.isKept
  const loginUrl = audience.mayHaveLink ? await ownerLink(app, isOperator) : undefined
  process.stdout.write(startScreen(config, audience, { loginUrl, gateway: app.gateway.address() }))
}

/**
 * The login link is for the person at this machine only. Behind a proxy, in the systemd journal or with `--user`, the
 * output goes to files that others may read.
 */
function audienceOf(config: Config, env: NodeJS.ProcessEnv, user: string | undefined): Audience {
  const isOfThisMachine = isLoopback(config.host) && isLoopback(config.baseUrl.hostname)
  const isKept = user !== undefined || isJournal(env)
  return { user, isKept, mayHaveLink: process.stdout.isTTY || (isOfThisMachine && !isKept) }
}

/** systemd.exec(5): a terminal may have inherited the variable, so check that it names our own output. */
function isJournal(env: NodeJS.ProcessEnv): boolean {
  if (env['JOURNAL_STREAM'] === undefined) return false
  const { dev, ino } = fstatSync(process.stdout.fd)
  return env['JOURNAL_STREAM'] === `${dev}:${ino}`
}

/** Undefined if an admin has disabled the owner: the service still starts for other users. */
async function ownerLink(app: App, isOperator: boolean): Promise<Secret | undefined> {
  try {
    return await app.ownerLoginUrl({ isOperator })
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'conflict') return undefined
    throw error
  }
}

/** The kill switch runs until the last call has ended, so it is not stopped with the other timers. */
function startTimers(
  app: App,
  clock: DatabaseClock,
  log: Log,
  certificate: CertificateReloads,
): { timers: NodeJS.Timeout[]; killSwitch: NodeJS.Timeout } {
  const every = (ms: number, what: string, work: () => Promise<unknown>) => {
    const run = () => {
      work().catch((error: unknown) => {
        log.error({ err: error }, `${what} failed`)
      })
    }
    return { run, timer: setInterval(run, ms).unref() }
  }
  const dueJobs = every(10_000, 'background jobs', app.catchUp)
  // Run jobs that the previous process left over.
  dueJobs.run()
  return {
    timers: [
      dueJobs.timer,
      every(10 * minuteMs, 'sweeping expired records', app.sweep).timer,
      every(10_000, 'reading the clock of the database', clock.adjust).timer,
      setInterval(certificate.reloadIfChanged, minuteMs).unref(),
      every(minuteMs, 'recording refused calls', app.flushRefusals).timer,
      every(minuteMs, 'signing audit chain heads', app.signRecord).timer,
      every(listenersMs, 'checking event listeners', app.checkListeners).timer,
    ],
    killSwitch: every(killSwitchMs, 'checking calls in flight', app.checkCallsInFlight).timer,
  }
}

interface Running {
  app: App
  config: Config
  audience: Audience
  database: Database
  egress: Egress
  log: Log
  loopback: Server | undefined
  metricsServer: Server | undefined
  timers: NodeJS.Timeout[]
  killSwitch: NodeJS.Timeout
}

function stop(running: Running, signal?: string): void {
  endCalls(running, signal).catch((error: unknown) => {
    running.log.error({ err: error }, 'stopping failed')
    process.exit(1)
  })
}

/** Waits a while for calls in progress to end. */
async function endCalls(running: Running, signal: string | undefined): Promise<void> {
  const { app, config, database, egress, log, loopback, metricsServer, timers, killSwitch } = running
  log.info({ signal }, 'stopping')
  app.beginStop()
  await sleep((config.drainSeconds ?? (config.trustProxy ? 5 : 0)) * 1000)
  timers.forEach(clearInterval)
  metricsServer?.close()
  const loopbackClosed = loopback && closeOtherLoopback(app.http.server, loopback)
  const tooLate = sleep(config.stopSeconds * 1000, undefined, { ref: false })
  const closed = Promise.all([app.http.close(), loopbackClosed, app.heldCallsMade(), app.gateway.close()])
  await Promise.race([closed, tooLate])
  const cutOff = app.cutOffCalls()
  app.http.server.closeAllConnections()
  app.gateway.destroyAll()
  await Promise.race([Promise.all([closed, cutOff]), sleep(cutOffPatienceMs)])
  await Promise.race([app.jobsEnded(), sleep(jobsPatienceMs)])
  for (const work of [app.flushRefusals, app.signRecord]) {
    // Stop even if the database is unavailable.
    await work().catch((error: unknown) => {
      log.error({ err: error }, 'the audit log could not be completed before stopping')
    })
  }
  clearInterval(killSwitch)
  await egress.close()
  await database.close()
  log.info('stopped')
  process.exit(0)
}
