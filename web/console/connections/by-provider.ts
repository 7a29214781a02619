import type { Connection } from '@sallyport/sdk'

export interface ProviderAccounts {
  providerId: string
  name: string
  isVerified: boolean
  accounts: Connection[]
}

const order = new Intl.Collator(undefined, { numeric: true })

/** Accounts that need attention first, then by name. Two providers with the same name stay separate. */
export function byProvider(connections: readonly Connection[]): ProviderAccounts[] {
  const groups = Map.groupBy(connections, ({ provider_id: id }) => id)
  const sorted = [...groups].flatMap(([providerId, accounts]) => {
    const [first] = accounts
    if (!first) return []
    const { provider_name: name, verified: isVerified } = first
    return [{ providerId, name, isVerified, accounts: accounts.sort(compareAccounts) }]
  })
  return sorted.sort((a, b) => order.compare(a.name, b.name) || order.compare(a.providerId, b.providerId))
}

function compareAccounts(a: Connection, b: Connection): number {
  const urgency = Number(b.status === 'needs_reauth') - Number(a.status === 'needs_reauth')
  return urgency || order.compare(a.account_label ?? '', b.account_label ?? '')
}
