// The internet of a test, for a process that is started with `--import` of this file: names resolve to addresses, and
// connections to these addresses lead to servers of the test. TEST_INTERNET is a JSON file: name → { addresses, port }.
// Each look-up gets the next of `addresses`, and the last one from then on, so that a name can be rebound.
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

const read = () => JSON.parse(readFileSync(process.env.TEST_INTERNET, 'utf8'))
const asked = new Map()

function addressOf(name) {
  const site = read()[name]
  if (!site) return undefined
  const turn = Number(asked.get(name) ?? 0)
  asked.set(name, turn + 1)
  return site.addresses[Math.min(turn, site.addresses.length - 1)]
}

function portAt(address) {
  return Object.values(read()).find(({ addresses }) => addresses.includes(address))?.port
}

// The service looks names up with a Resolver, the command line with lookup().
const { resolve4, resolve6 } = dnsPromises.Resolver.prototype
dnsPromises.Resolver.prototype.resolve4 = async function (name, ...rest) {
  const address = addressOf(name)
  return address === undefined ? resolve4.call(this, name, ...rest) : [address]
}
dnsPromises.Resolver.prototype.resolve6 = async function (name, ...rest) {
  if (read()[name]) throw Object.assign(new Error(`no IPv6 address for ${name}`), { code: 'ENODATA' })
  return resolve6.call(this, name, ...rest)
}
const { lookup } = dnsPromises
dnsPromises.lookup = async (name, options) => {
  const address = addressOf(name)
  if (address === undefined) return lookup(name, options)
  return options?.all ? [{ address, family: 4 }] : { address, family: 4 }
}
dns.promises.lookup = dnsPromises.lookup
syncBuiltinESMExports()

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [options, listener] = Array.isArray(args[0]) ? args[0] : args
  const go = (address) => {
    const port = portAt(address)
    if (port === undefined) return connect.apply(this, args)
    // The service compares it with what it has checked.
    Object.defineProperty(this, 'remoteAddress', { value: address, configurable: true })
    const here = { ...options, host: '127.0.0.1', port, lookup: undefined, autoSelectFamily: false }
    return connect.call(this, here, ...(typeof listener === 'function' ? [listener] : []))
  }
  if (typeof options !== 'object' || options.host === undefined) return connect.apply(this, args)
  if (typeof options.lookup !== 'function') return go(options.host)
  // As in Node: whoever chose the look-up is asked, for all addresses or for one.
  options.lookup(options.host, { all: true }, (error, found) => {
    if (error) this.destroy(error)
    else go(typeof found === 'string' ? found : found[0]?.address)
  })
  return this
}
