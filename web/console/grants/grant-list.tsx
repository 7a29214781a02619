import type { Grant } from '@sallyport/sdk'
import { GrantCard } from './grant-card.tsx'

export function GrantList({ grants }: { grants: Grant[] }) {
  return (
    <ul className="space-y-4">
      {grants.map((grant) => (
        <li key={grant.grant_id}>
          <GrantCard grant={grant} />
        </li>
      ))}
    </ul>
  )
}
