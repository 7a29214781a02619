import { readFileSync } from 'node:fs'

/** The memory that a process takes, on Linux. */
export function residentBytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}
