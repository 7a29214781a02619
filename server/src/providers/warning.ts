import { isVerified, metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import { siteOf } from './site.ts'

/** Shown to users before they go to the provider. Null for a verified provider. */
export function warningOf(provider: Provider): string | null {
  if (isVerified(provider)) return null
  const site = siteOf(new URL(metadataOf(provider).issuer))
  return `An agent proposed this provider and no administrator has verified it. It belongs to ${site}: continue only if you trust that site.`
}
