/**
 * How many sockets this process may open. Accounts don't share sockets, so as many are open as accounts are in use: closing
 * one too early costs another TLS handshake, the most expensive part of a call.
 */
import { existsSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** Memory per socket, measured with everything that belongs to it. */
const bytesOfOne = 90_000
/** The share of all memory, for all processes together. */
const shareOfMemory = 1 / 8
/** The share of the limit on open files: callers need sockets too. */
const shareOfFiles = 2 / 3
/** Assumed if the limit is unknown. */
const usualFiles = 1024
const fewest = 64
/** Limited by the local ports for connections to one address. */
const most = 20_000

export interface Means {
  memoryBytes: number
  openFiles: number
}

export function socketBound(processes: number, { memoryBytes, openFiles }: Means = meansHere()): number {
  const affordable = Math.min((memoryBytes * shareOfMemory) / processes / bytesOfOne, openFiles * shareOfFiles)
  return Math.max(fewest, Math.min(most, Math.floor(affordable)))
}

function meansHere(): Means {
  // Without a limit it is zero, or more than the machine has.
  const imposed = process.constrainedMemory() || Infinity
  const limits = '/proc/self/limits'
  const openFiles = openFilesIn(existsSync(limits) ? readFileSync(limits, 'utf8') : '')
  return { memoryBytes: Math.min(totalmem(), imposed), openFiles }
}

/** Node raises the soft limit to the hard limit when it starts. */
export function openFilesIn(limits: string): number {
  const [, files] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? []
  if (files === 'unlimited') return Infinity
  return files === undefined ? usualFiles : Number(files)
}
