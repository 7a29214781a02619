/**
 * Java's programs can be told of a proxy, but not of a credential for it. Theirs is a port of its own, which admits a
 * connection if the process behind it has the run's credential in its environment, as every program that the command starts
 * has. Linux only: it is where a process can be asked.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

/** Whether the other end of this connection belongs to a process whose environment has this value. */
export function isFromProcessWith(secret: string, { remoteAddress, remotePort, localPort }: Socket): boolean {
  if (remotePort === undefined || localPort === undefined) return false
  // Other addresses of this machine have the same ports: one of them could be taken for the command's.
  if (remoteAddress !== '127.0.0.1') return false
  const inode = inodeOf(remotePort, localPort)
  return inode !== undefined && processesWith(secret).some((pid) => hasSocket(pid, inode))
}

/** From /proc/net/tcp (proc(5)): the socket that is bound to `from` and connected to `to`, both at 127.0.0.1. */
function inodeOf(from: number, to: number): string | undefined {
  const here = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of read(file).split('\n').slice(1)) {
      const [, local = '', remote = '', , , , , , , inode] = line.trim().split(/\s+/)
      if (local.endsWith(here(from)) && remote.endsWith(here(to))) return inode
    }
  }
  return undefined
}

function processesWith(secret: string): string[] {
  const pids = names('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => pid !== String(process.pid) && read(`/proc/${pid}/environ`).includes(secret))
}

function hasSocket(pid: string, inode: string): boolean {
  return names(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`
    } catch {
      return false
    }
  })
}

/** Of other users' processes nothing can be read, and any process may end meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
