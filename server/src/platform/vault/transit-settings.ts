/** The master key encrypted by the transit engine of HashiCorp Vault (or OpenBao), which decrypts it at the start. */
import { isLoopbackName } from '../egress/loopback-http.ts'
import type { SecretSource } from '../config/settings.ts'
import { optional, setting } from '../config/settings.ts'

function decryptUrl(value: string): URL {
  const url = URL.parse(value)
  const isHere = url?.protocol === 'http:' && isLoopbackName(url.hostname)
  const isPlain = url && url.href === url.origin + url.pathname && /^\/v1\/.+\/decrypt\/[^/]+$/.test(url.pathname)
  if (!isPlain || !(url.protocol === 'https:' || isHere)) {
    throw new TypeError(
      'the https URL of a key’s decrypt endpoint, such as https://vault.internal:8200/v1/transit/decrypt/sallyport, or http on this machine',
    )
  }
  return url
}

export const transitSettings = {
  SALLYPORT_MASTER_KEY_VAULT: setting(
    null,
    'The decrypt endpoint of a key of Vault’s transit engine; SALLYPORT_MASTER_KEY is then what that key encrypted (vault:v1:…)',
    optional(decryptUrl),
  ),
}

export const transitSecretSettings = {
  SALLYPORT_VAULT_TOKEN: {
    fallback: 'none',
    meaning: 'The token for SALLYPORT_MASTER_KEY_VAULT; its policy has to allow update on that path, and nothing else',
  },
} as const

export interface TransitValues {
  masterKey: SecretSource
  masterKeyVault: URL | undefined
  vaultToken: SecretSource
}

export function transitContradictions({ masterKey, masterKeyVault, vaultToken }: TransitValues): string[] {
  if (!masterKeyVault) {
    return vaultToken.isSet ? [`${vaultToken.name} has no effect because SALLYPORT_MASTER_KEY_VAULT is not set.`] : []
  }
  return [
    ...[masterKey, vaultToken]
      .filter(({ isSet }) => !isSet)
      .map(({ name }) => `${name} must be set together with SALLYPORT_MASTER_KEY_VAULT.`),
    ...(masterKey.isSet && !readCiphertexts(masterKey)
      ? [`${masterKey.name} must be what Vault encrypted (vault:v1:…), because SALLYPORT_MASTER_KEY_VAULT is set.`]
      : []),
  ]
}

/** Several are separated by commas, as master keys are. Undefined if one of them is something else. */
export function readCiphertexts(source: SecretSource): string[] | undefined {
  const all = (source.read()?.reveal() ?? '').split(/[\s,]+/).filter((text) => text !== '')
  return all.length > 0 && all.every((text) => /^vault:v\d{1,9}:[A-Za-z0-9+/=]{1,10000}$/.test(text)) ? all : undefined
}

export function readToken(source: SecretSource): string | undefined {
  return source.read()?.reveal()
}
