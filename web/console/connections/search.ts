import type { Provider } from '@sallyport/sdk'

type Searched = Pick<Provider, 'provider_name' | 'slug' | 'issuer_url' | 'api_hosts'>

/** Whether every word stands somewhere in the provider's name or addresses. */
export function matches({ provider_name: name, slug, issuer_url: issuer, api_hosts: hosts }: Searched, wanted: string) {
  const text = fold([name, slug, issuer, ...hosts].join(' '))
  return fold(wanted)
    .split(/\s+/)
    .every((word) => text.includes(word))
}

function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trim()
}
