/**
 * Keeps space on SQLite's disk for what must always work: revoking, disabling, signing out. Below four times the floor
 * anonymous callers can't store anything; below the floor only calls that take access away may write. If other programs
 * fill the disk completely, a reserve file is deleted to make room, and created again once there is space.
 */
import { randomFillSync } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { PlatformConfig } from '../config/platform-settings.ts'
import { ServiceError } from '../errors.ts'
import type { Http } from '../http/http.ts'
import type { Log } from '../operations/log.ts'

export type DiskState = 'ok' | 'low' | 'full'
export type DiskSpace = () => DiskState

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The call must work on a full disk: it takes access away, or signs in someone who can. */
    worksOnFullDisk?: boolean
    /** Anyone can make this call store something, so it is refused while disk space is low. */
    needsDiskSpace?: boolean
  }
}

interface DiskNeeds {
  config: Pick<PlatformConfig, 'dataDir' | 'databaseUrl' | 'diskFloorBytes'>
  log: Log
}

const mebibyte = 1024 * 1024
const maxReserveBytes = 16 * mebibyte
/** With less than this a commit may fail. */
const emptyBytes = 4 * mebibyte
const checkEveryMs = 250

export function createDiskSpace({ config, log }: DiskNeeds): DiskSpace {
  const { dataDir, databaseUrl, diskFloorBytes } = config
  // PostgreSQL's disk is not ours to watch.
  if (databaseUrl.isSet || diskFloorBytes === 0) return () => 'ok'
  const reserve = join(dataDir, 'sallyport.db-reserve')
  const reserveBytes = Math.min(maxReserveBytes, Math.floor(diskFloorBytes / 4))
  let state: DiskState = 'ok'
  let checkedAt = -Infinity
  const check = () => {
    if (freeBytes(dataDir) < emptyBytes) rmSync(reserve, { force: true })
    else if (freeBytes(dataDir) > diskFloorBytes + reserveBytes && !existsSync(reserve))
      writeReserve(reserve, reserveBytes)
    // The space freed by deleting the reserve is for calls that take access away, so it doesn't count as free.
    const free = freeBytes(dataDir) - (existsSync(reserve) ? 0 : reserveBytes)
    const before = state
    state = free < diskFloorBytes ? 'full' : free < 4 * diskFloorBytes ? 'low' : 'ok'
    if (state !== before) log[state === 'ok' ? 'info' : 'error']({ state, free_bytes: free }, 'disk space')
  }
  return () => {
    const now = performance.now()
    if (now - checkedAt >= checkEveryMs) {
      checkedAt = now
      try {
        check()
      } catch (error) {
        log.error({ err: error }, 'disk space could not be checked')
      }
    }
    return state
  }
}

/** Registered before authentication, which may write too. */
export function guardDiskSpace(http: Http, diskSpace: DiskSpace): void {
  http.addHook('onRequest', (request, _reply, done) => {
    const state = diskSpace()
    const { worksOnFullDisk = false, needsDiskSpace = false } = request.routeOptions.config
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (state === 'full' && !isRead && !worksOnFullDisk) {
      const message = "The service's disk is full. Reading, revoking, disabling and signing out still work."
      throw new ServiceError('not_ready', { message })
    }
    if (state === 'low' && needsDiskSpace) {
      throw new ServiceError('not_ready', { message: "The service's disk is nearly full. Try again later." })
    }
    done()
  })
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Random bytes, because some file systems store zeros without using space. */
function writeReserve(file: string, size: number): void {
  const bytes = randomFillSync(Buffer.alloc(Math.min(size, mebibyte)))
  const opened = openSync(file, 'w', 0o600)
  try {
    for (let written = 0; written < size; written += bytes.length) writeSync(opened, bytes)
    fsyncSync(opened)
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(opened)
  }
}
