/**
 * Resolves names with c-ares, which needs no threads. `dns.lookup` uses the four threads of Node's pool: a few names whose
 * servers don't answer would block all connections.
 */
import { Resolver } from 'node:dns/promises'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setBounded } from '../cache/memoize.ts'
import { codeOf } from './failures.ts'
import { createLookupPlaces } from './lookup-places.ts'
import type { LookupBounds } from './lookup-places.ts'

/**
 * Finds all addresses of a name. `asker` is on whose behalf: each has a share of the look-ups under way. Rejects with `Busy`
 * if that is used up.
 */
export type Lookup = (name: string, asker: string) => Promise<readonly { address: string }[]>

export interface ResolverOptions {
  /** `address:port`; by default those of resolv.conf. */
  servers?: readonly string[]
  hostsFile?: string
  /** Search domains and name servers; read again when the file changes. */
  resolvConf?: string
  /** For one attempt at one server. There are two attempts. */
  timeoutMs?: number
  bounds?: Partial<LookupBounds>
}

/** How long a failed look-up is cached. */
const failureMs = 3_000
/** How long to wait for the second address family: some networks drop IPv6 queries. */
const slowerFamilyMs = 300
const loopback = ['127.0.0.1', '::1']

export function createResolver({
  servers,
  hostsFile = '/etc/hosts',
  resolvConf = '/etc/resolv.conf',
  timeoutMs = 2_000,
  bounds,
}: ResolverOptions = {}): Lookup {
  const { take } = createLookupPlaces(bounds)
  const hosts = cachedFile(hostsFile, readHosts)
  // c-ares reads resolv.conf only once, but name servers change when a machine changes networks.
  const nameServers = cachedFile(resolvConf, (lines) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
    if (servers) resolver.setServers(servers)
    return askNameServers(resolver, readSearchDomains(lines), take)
  })
  return async (name, asker) => {
    const lower = name.toLowerCase().replace(/\.$/, '')
    // RFC 6761: localhost is always this machine.
    const given = hosts().get(lower) ?? (/(?:^|\.)localhost$/.test(lower) ? loopback : undefined)
    return (given ?? (await nameServers()(lower, asker))).map((address) => ({ address }))
  }
}

function askNameServers(
  resolver: Resolver,
  searchDomains: readonly string[],
  takePlace: (asker: string) => Promise<() => void>,
): (name: string, asker: string) => Promise<string[]> {
  const underWay = new Map<string, Promise<string[]>>()
  const failures = new Map<string, { error: unknown; until: number }>()

  /** Queries both address families and does not wait long for the second. */
  const ask = async (name: string): Promise<string[]> => {
    const found: string[][] = [[], []]
    const families = [resolver.resolve4(name), resolver.resolve6(name)].map(async (answer, family) => {
      found[family] = await answer
    })
    const all = Promise.allSettled(families)
    await Promise.any(families).catch(() => undefined)
    await Promise.race([all, sleep(slowerFamilyMs, undefined, { ref: false })])
    const addresses = found.flat()
    // Both have failed: throws.
    if (addresses.length === 0) await Promise.all(families)
    return addresses
  }

  /** Tries the name itself first, and search domains only if it doesn't exist. */
  const askWithDomains = async (name: string): Promise<string[]> => {
    try {
      return await ask(name)
    } catch (error) {
      const isAbsent = ['ENOTFOUND', 'ENODATA'].includes(codeOf(error))
      for (const domain of isAbsent ? searchDomains : []) {
        const addresses = await ask(`${name}.${domain}`).catch(() => [])
        if (addresses.length > 0) return addresses
      }
      setBounded(failures, name, { error, until: performance.now() + failureMs })
      throw error
    }
  }

  const askInPlace = async (name: string, asker: string): Promise<string[]> => {
    const free = await takePlace(asker)
    try {
      return await askWithDomains(name)
    } finally {
      free()
    }
  }

  return async (name, asker) => {
    const failure = failures.get(name)
    if (failure && failure.until > performance.now()) throw failure.error
    failures.delete(name)
    let asking = underWay.get(name)
    if (!asking) {
      asking = askInPlace(name, asker).finally(() => underWay.delete(name))
      underWay.set(name, asking)
    }
    return asking
  }
}

/** Caches what was read from a file until the file changes. */
function cachedFile<T>(file: string, read: (lines: string[]) => T): () => T {
  let kept: { changedAt: number; value: T } | undefined
  return () => {
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (kept?.changedAt !== changedAt) {
      const text = changedAt === 0 ? '' : readFileSync(file, 'utf8')
      kept = { changedAt, value: read(text.split('\n').map((line) => line.split('#', 1)[0] ?? '')) }
    }
    return kept.value
  }
}

function readHosts(lines: string[]): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of lines) {
    const [address = '', ...names] = wordsIn(line)
    if (isIP(address) === 0) continue
    for (const name of names.map((one) => one.toLowerCase())) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}

/** The last such line counts. */
function readSearchDomains(lines: string[]): string[] {
  const domains = lines.map(wordsIn).filter(([keyword]) => keyword === 'search' || keyword === 'domain')
  return domains.at(-1)?.slice(1) ?? []
}

function wordsIn(line: string): string[] {
  return line.split(/\s/).filter((word) => word !== '')
}
