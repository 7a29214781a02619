import { ServiceError } from '../platform/errors.ts'

const maxLength = 40

/** Access requests name the sandbox by this slug, so no new provider can have it. */
export const sandboxSlug = 'sandbox'

/** Throws the same error as for a slug that another provider has. */
export function assertNotReserved(slug: string): void {
  if (slug !== sandboxSlug) return
  const message = 'The slug "sandbox" is reserved. Choose another.'
  throw new ServiceError('slug_taken', { field: 'slug', message })
}

/** `Acme Corp` becomes `acme-corp`. Undefined if the name has no Latin letter or digit. */
export function slugFrom(name: string): string | undefined {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '')
  return slug === '' ? undefined : slug
}
