/**
 * How many sockets this process can afford. Accounts share none, so where many accounts are in use at the same time as
 * many sockets stand: whatever is let go of too early is another TLS handshake, the dearest part of a call.
 */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** Measured, with all that stands around it. */
const bytesOfOne = 90_000
/** Of the memory that there is, for all processes together. */
const shareOfMemory = 1 / 8
/** Of the files that may be open: callers have sockets too. */
const shareOfFiles = 2 / 3
/** What most systems allow at least, where nothing says how many there may be. */
const usualFiles = 1024
const fewest = 64
/** There are not many more ports to reach one address from. */
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
  // Zero, or more than there is, where nothing is imposed.
  const imposed = process.constrainedMemory() || Infinity
  return { memoryBytes: Math.min(totalmem(), imposed), openFiles: openFilesIn(limitsHere()) }
}

/** Node has raised the first of the two figures to the second when it started. */
export function openFilesIn(limits: string): number {
  const [, files] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? []
  if (files === 'unlimited') return Infinity
  return files === undefined ? usualFiles : Number(files)
}

function limitsHere(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
