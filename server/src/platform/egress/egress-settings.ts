/** How the service reaches the outside: what it may call beyond public addresses, whom it trusts, and through which proxy. */
import { certificates, egressAllow, flag, optional, setting } from '../config/settings.ts'
import type { SecretSource } from '../config/settings.ts'
import type { AllowEntry } from './destinations.ts'
import { parseProxyUrl } from './egress-proxy.ts'
import type { EgressProxy } from './egress-proxy.ts'

export const egressSettings = {
  SALLYPORT_EGRESS_ALLOW: setting(
    null,
    'Non-public destinations that may be called: host:port or CIDR ranges, separated by commas',
    egressAllow,
  ),
  SALLYPORT_EGRESS_CA_FILE: setting(
    null,
    'PEM file of additional CA certificates, trusted only for destinations in SALLYPORT_EGRESS_ALLOW, for the OTLP collector, for an https proxy, and for Vault',
    optional(certificates),
  ),
  SALLYPORT_EGRESS_DIRECT: setting(
    null,
    'Destinations that are reached without SALLYPORT_EGRESS_PROXY, written as in SALLYPORT_EGRESS_ALLOW',
    egressAllow,
  ),
  SALLYPORT_EGRESS_PROXY_RESOLVES: setting(
    '0',
    '1 leaves name resolution to the proxy, which then has to refuse private addresses',
    flag,
  ),
}

export const egressSecretSettings = {
  SALLYPORT_EGRESS_PROXY: {
    fallback: 'none',
    meaning: 'A proxy for all outgoing connections, by CONNECT: http://user:password@host:port or https://…',
  },
} as const

interface Values {
  egressAllow: AllowEntry[]
  egressCaFile: { pem: string } | undefined
  egressDirect: AllowEntry[]
  egressProxyResolves: boolean
  egressProxy: SecretSource
  otelExporterOtlpEndpoint: URL | undefined
  masterKeyVault: URL | undefined
}

export function egressContradictions(config: Values): string[] {
  const { egressProxy, egressDirect, egressProxyResolves: resolves, egressCaFile, egressAllow: allow } = config
  const problems: string[] = []
  const proxy = egressProxyOf(config)
  if (egressProxy.isSet && !proxy) {
    problems.push(
      'SALLYPORT_EGRESS_PROXY must be an http or https URL without a path, such as http://user:password@proxy.internal:3128.',
    )
  }
  const idle = [
    ...(egressDirect.length > 0 ? ['SALLYPORT_EGRESS_DIRECT'] : []),
    ...(resolves ? ['SALLYPORT_EGRESS_PROXY_RESOLVES'] : []),
  ]
  if (!egressProxy.isSet) {
    for (const name of idle) problems.push(`${name} has no effect because SALLYPORT_EGRESS_PROXY is not set.`)
  }
  const hasOtherUse = config.otelExporterOtlpEndpoint ?? config.masterKeyVault ?? proxy?.isTls
  if (egressCaFile !== undefined && allow.length === 0 && !hasOtherUse) {
    problems.push('SALLYPORT_EGRESS_CA_FILE has no effect because SALLYPORT_EGRESS_ALLOW is empty.')
  }
  return problems
}

export function egressProxyOf(
  config: Pick<Values, 'egressProxy' | 'egressProxyResolves' | 'egressDirect'>,
): EgressProxy | undefined {
  const given = config.egressProxy.read()
  const parsed = given && parseProxyUrl(given.reveal())
  return parsed && { ...parsed, resolvesNames: config.egressProxyResolves, direct: config.egressDirect }
}
