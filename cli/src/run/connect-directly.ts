/**
 * Connections to hosts without a grant. The name is resolved once, and only public addresses of it are connected to: nothing
 * that a tool is told to fetch leads to this machine, its network or a cloud's metadata service.
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { judgeAddress } from '@sallyport/protocol/public-address'
import { codeOf } from '../config-folder.ts'
import { opened } from './opened.ts'
import { Refused } from './refused.ts'
import type { Target } from './target.ts'

/** All addresses of a name. */
export type Lookup = (name: string) => Promise<string[]>

export const lookupBySystem: Lookup = async (name) =>
  (await systemLookup(name, { all: true })).map(({ address }) => address)

export async function connectDirectly({ host, port }: Target, lookup: Lookup): Promise<Socket> {
  const addresses = isIP(host) === 0 ? await lookup(host).catch(notFound(host)) : [host]
  const open = addresses.filter((address) => judgeAddress(address) === undefined)
  if (open.length === 0) throw new Refused(403, 'host_not_allowed', whyClosed(host, addresses))
  const socket = connect({ host, port, allowHalfOpen: true, autoSelectFamily: true, lookup: answering(open) })
  return opened(socket, 'connect').catch((error: unknown) => {
    throw new Refused(502, 'upstream_unreachable', `${host} can't be reached (${codeOf(error)})`)
  })
}

function whyClosed(host: string, [address = '']: string[]): string {
  const reason = judgeAddress(address) ?? 'without an address'
  const found =
    isIP(host) === 0 ? `${host} resolves to an address that is not public (${reason})` : `${host} is ${reason}`
  return `${found}: sallyport run connects to public addresses and to granted hosts only`
}

function notFound(host: string) {
  return (error: unknown): never => {
    throw new Refused(502, 'upstream_unreachable', `${host} was not found (${codeOf(error)})`)
  }
}

/** Gives these addresses without another look-up, whose answer could differ. */
function answering(addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  const [first = { address: '', family: 0 }] = all
  return (_name, options, callback) => {
    if (options.all === true) callback(null, all)
    else callback(null, first.address, first.family)
  }
}
