/** The host and port that a tool wants to reach, and which way leads there. Pure. */
import { isUnder } from '../choose-grant.ts'

export interface Target {
  /** Lower case, an IPv6 address without brackets. */
  host: string
  port: number
  /** As in the grants' hosts and in CONNECT. */
  url: URL
}

/** From `host:port`, as in CONNECT. The URL parser normalizes it: `0x7f.1` becomes 127.0.0.1. */
export function parseTarget(authority: string): Target | undefined {
  if (!/^(?:\[[\da-f:.]+\]|[^\s:/?#@[\]\\]+):\d{1,5}$/i.test(authority)) return undefined
  try {
    const url = new URL(`https://${authority}`)
    url.hostname = url.hostname.replace(/\.$/, '')
    const port = url.port === '' ? 443 : Number(url.port)
    return port === 0 ? undefined : { host: url.hostname.replace(/^\[|\]$/g, ''), port, url }
  } catch {
    return undefined
  }
}

/** The authority of an https URL. */
export function withPort(authority: string): string {
  return /:\d+$/.test(authority) ? authority : `${authority}:443`
}

export type Way = 'gateway' | 'direct' | 'nowhere'

/** What a grant of the run covers goes through Sallyport, everything else directly or not at all. */
export function chooseWay({ url }: Target, grantedHosts: string[], otherHosts: OtherHosts): Way {
  if (isUnder(grantedHosts, url)) return 'gateway'
  return otherHosts === 'allow' ? 'direct' : 'nowhere'
}

export type OtherHosts = 'allow' | 'deny'
