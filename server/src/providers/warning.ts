import { isVerified, metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import { siteOf } from './site.ts'

/** An agent can't name more. */
const maxShown = 10

/** Shown to users before they go to the provider. Null for a verified provider. */
export function warningOf(provider: Provider): string | null {
  if (isVerified(provider)) return null
  const site = siteOf(new URL(metadataOf(provider).issuer))
  const [shown, more] = [provider.apiHosts.slice(0, maxShown), provider.apiHosts.length - maxShown]
  const hosts = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `An agent proposed this provider and no administrator has verified it. It belongs to ${site}: continue only if you trust that site. Calls that you approve go to ${hosts}.`
}
