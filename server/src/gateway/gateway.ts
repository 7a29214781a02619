/** Joins the parts of the gateway: its authority, who may open tunnels, the listener, and how tunnels end with their key. */
import type { GatewayReply } from '@sallyport/protocol/gateway'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../platform/config/platform-settings.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { rereadCertificate } from '../platform/http/listener.ts'
import { createTunnelListener } from '../platform/http/tunnels/tunnel-listener.ts'
import type { TunnelGate } from '../platform/http/tunnels/tunnel-listener.ts'
import type { Tunnel } from '../platform/http/tunnels/tunnel.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import { createActiveSet } from '../platform/active-set.ts'
import type { ToolKeyStore } from '../tool-keys/tool-key-store.ts'
import { admitTunnel, assertOpened, recordRefusal } from './admit-tunnel.ts'
import type { AdmittedTool, AdmitTunnelNeeds } from './admit-tunnel.ts'
import { keepAuthority } from './keep-authority.ts'
import type { AuthorityNeeds } from './keep-authority.ts'
import { gatewayRoutes } from './gateway-routes.ts'
import { createLeaves } from './leaves.ts'
import { createTunnelLimits } from './tunnel-limits.ts'
import type { TunnelLimits } from './tunnel-limits.ts'

export interface GatewayNeeds extends Omit<AdmitTunnelNeeds, 'limits' | 'leaves' | 'onRefused'>, AuthorityNeeds {
  config: Config
  toolKeys: Pick<ToolKeyStore, 'findByHash'>
  metrics: Metrics
}

/** Where it listens unless SALLYPORT_GATEWAY_PORT says something else. */
export const usualPort = 8788
/** Longer than a call may wait for the first byte of its answer. */
const idleCallSeconds = 660

export type GatewayAddress = Omit<GatewayReply, 'fingerprint'>

export interface Gateway {
  /** Undefined if it is off. */
  address: () => GatewayAddress | undefined
  /** Does nothing if the gateway is off, or its usual port is taken. */
  listen: (port?: number) => Promise<void>
  /** Ends tunnels whose key has ended, or whose host no active grant opens any more. */
  check: () => Promise<void>
  /** Renews the authority in time. */
  keep: () => Promise<void>
  rereadCertificate: () => boolean
  close: () => Promise<void>
  destroyAll: () => void
}

type Open = AdmittedTool & { tunnel: Tunnel }

export function createGateway(http: Http, given: GatewayNeeds): Gateway {
  const { config, database, toolKeys, clock, log } = given
  const keeper = keepAuthority(given)
  const leaves = createLeaves({ keeper, clock })
  const limits = createTunnelLimits()
  const measured = measureGateway(given.metrics, limits)
  const needs: AdmitTunnelNeeds = { ...given, leaves, limits, onRefused: measured.onRefused }
  const open = createActiveSet<Open>()

  const gate: TunnelGate = {
    onHandshake: measured.onHandshake,
    admit: async (asked) => {
      const admitted = await admitTunnel(needs, asked)
      const { tool, keySecret, target, leave } = admitted
      let remove = (): void => undefined
      return {
        keySecret,
        certificate: () => leaves.of(target.host),
        opened: (tunnel) => {
          remove = open.add({ ...admitted, tunnel })
        },
        closed: () => {
          remove()
          leave()
        },
        refused: (error, refused) => {
          recordRefusal(needs, tool, error, refused).catch((fault: unknown) => {
            log.error({ err: fault }, 'a refusal of the gateway could not be recorded')
          })
        },
      }
    },
  }
  // On loopback nobody else reads what is sent, and the certificate would be for another name.
  const isOnLoopback = isLoopback(config.gatewayHost)
  const tls = isOnLoopback ? { tlsCertFile: undefined, tlsKeyFile: undefined } : {}
  const connectionIdleSeconds = Math.max(config.connectionIdleSeconds, idleCallSeconds)
  const settings = { ...config, ...tls, connectionIdleSeconds }
  const listener = createTunnelListener({ config: settings, http, gate, clock, log })

  const address = () => {
    const bound = listener.server.listening ? listener.server.address() : null
    if (bound === null || typeof bound === 'string') return undefined
    const host = isOnLoopback ? config.gatewayHost : config.baseUrl.hostname
    return { host, port: bound.port, tls: !isOnLoopback }
  }
  gatewayRoutes(http, { keeper, address, take: listener.take })

  return {
    address,
    listen: async (port) => {
      if (config.gatewayPort === 'off') return
      const chosen = port ?? config.gatewayPort ?? usualPort
      try {
        await listener.listen({ host: config.gatewayHost, port: chosen })
      } catch (error) {
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        if (!isTaken || chosen !== usualPort || config.gatewayPort !== undefined) throw error
        log.warn(
          { port: chosen },
          'the gateway is off: its port is in use; set SALLYPORT_GATEWAY_PORT to another, or to off',
        )
        return
      }
      // The first certificates take several times as long as later ones.
      leaves.of('warm.invalid').catch((error: unknown) => {
        log.error({ err: error }, 'the authority of the gateway cannot be used')
      })
    },
    check: async () => {
      const now = clock()
      for (const ofKey of Map.groupBy(open.all(), ({ tool }) => tool.key.keyId).values()) {
        const [{ tool }] = ofKey as [Open]
        const found = await toolKeys.findByHash(database.queries, tool.keyHash)
        for (const { tunnel, target } of ofKey) {
          const isOpened =
            found !== undefined && found.key.expiresAt > now && (await isStillOpened(needs, tool, target))
          if (!isOpened) tunnel.end()
        }
      }
    },
    keep: async () => {
      if (listener.server.listening) await keeper.current()
    },
    rereadCertificate: () => rereadCertificate(listener.server, settings),
    close: async () => {
      if (listener.server.listening) await listener.close()
    },
    destroyAll: listener.destroyAll,
  }
}

async function isStillOpened(...asked: Parameters<typeof assertOpened>): Promise<boolean> {
  try {
    await assertOpened(...asked)
    return true
  } catch (error) {
    if (error instanceof ServiceError) return false
    throw error
  }
}

function measureGateway({ gauge, counter }: Metrics, limits: TunnelLimits) {
  gauge('sallyport_gateway_tunnels', 'Tunnels of the gateway that are open', limits.open)
  const handshakes = counter('sallyport_gateway_handshakes_total', 'TLS handshakes in tunnels by outcome', ['outcome'])
  const refusals = counter('sallyport_gateway_refusals_total', 'Refusals of the gateway itself by code', ['code'])
  return {
    onHandshake: (outcome: 'done' | 'failed') => {
      handshakes.inc({ outcome })
    },
    onRefused: ({ code }: ServiceError) => {
      refusals.inc({ code })
    },
  }
}
