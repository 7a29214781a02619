import { matchesWords } from '@sallyport/protocol/search'
import type { Provider } from '@sallyport/sdk'

type Searched = Pick<Provider, 'provider_name' | 'slug' | 'issuer_url' | 'api_hosts'>

/** By the provider's name and URLs. */
export function matches({ provider_name: name, slug, issuer_url: issuer, api_hosts: hosts }: Searched, wanted: string) {
  return matchesWords([name, slug, issuer, ...hosts].join(' '), wanted)
}

const order = new Intl.Collator(undefined, { numeric: true })

/** Verified providers first: a name that an agent chose is never above them. */
export function inOrder<P extends Pick<Provider, 'provider_name' | 'verified'>>(providers: readonly P[]): P[] {
  return [...providers].sort(
    (a, b) => Number(b.verified) - Number(a.verified) || order.compare(a.provider_name, b.provider_name),
  )
}
