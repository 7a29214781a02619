/** Metrics of an instance's state. If the database does not respond in time, only its metrics are left out. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Queries } from '../platform/database/database.ts'
import { freeBytes } from '../platform/limits/disk-space.ts'
import type { HealthNeeds } from './health-routes.ts'

const deadlineMs = 2_000

export function measureState(needs: HealthNeeds): void {
  const { config, database, clock, callbacks, pushes, connections, clockOffsetMs = () => 0 } = needs
  const { gauge, info } = needs.metrics
  /** The same in all processes and instances that share a database. */
  const ofDatabase = (name: string, help: string, read: (queries: Queries) => Promise<number>) => {
    const late = () => sleep(deadlineMs, undefined, { ref: false })
    gauge(name, help, () => Promise.race([read(database.queries), late()]).catch(() => undefined), 'max')
  }
  info('sallyport_build_info', 'Always 1; the labels are the version and the database engine', {
    version: needs.version,
    database: database.engine,
  })
  ofDatabase('sallyport_callbacks_waiting', 'Callbacks that are not delivered yet, at most 10000', async (queries) => {
    return (await callbacks.size(queries, clock())).waiting
  })
  ofDatabase('sallyport_pushes_waiting', 'Push notifications that are not sent yet, at most 10000', async (queries) => {
    return (await pushes.size(queries, clock())).waiting
  })
  ofDatabase(
    'sallyport_connections_need_sign_in',
    'Connections whose users have to sign in to the provider again, among the newest 20000',
    connections.countNeedsReauth,
  )
  gauge(
    'sallyport_clock_offset_seconds',
    "How far this machine's clock is ahead of the database's; 0 on SQLite",
    () => clockOffsetMs() / 1000,
    'average',
  )
  if (config.databaseUrl.isSet) return
  gauge('sallyport_disk_free_bytes', "Free space on the disk of SQLite's database", () => freeOn(config.dataDir), 'max')
}

function freeOn(folder: string): number | undefined {
  try {
    return freeBytes(folder)
  } catch {
    return undefined
  }
}
