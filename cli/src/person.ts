/** The user whose connections a command is about: the one who is signed in, or whom an administrator names. */
import type { Connection, ListConnectionsQuery, Preset, Provider, UserClient } from '@sallyport/sdk'
import { asAdmin, asAnyone, asUser } from './clients.ts'
import type { OptionSpecs } from './command.ts'
import { usageError } from './failures.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export const userOption = {
  user: {
    type: 'text',
    value: 'USER',
    summary: "as administrator: the user's id or email address",
  },
} as const satisfies OptionSpecs

type Connections = Pick<UserClient['connections'], 'create' | 'replaceCredential'>

export interface Person {
  connections: (query: ListConnectionsQuery) => AsyncIterable<Connection>
  create: Connections['create']
  replaceCredential: Connections['replaceCredential']
  /** What can be connected. */
  find: (slug: string) => Promise<Offer | undefined>
}

/** A provider, or a preset that becomes one with the first account. */
export type Offer = Pick<Provider, 'slug' | 'provider_name' | 'auth_methods' | 'docs'>

export async function personOf(shell: Shell, user: string | undefined): Promise<Person> {
  const options = { signal: shell.interrupted }
  const offered = async (slug: string, presets: () => Promise<Preset[]>): Promise<Offer | undefined> => {
    for await (const provider of asAnyone(shell).providers.list({}, options))
      if (provider.slug === slug) return provider
    const preset = (await presets()).find((one) => one.preset === slug && one.connectable)
    return preset && { ...preset, slug }
  }
  if (user === undefined) {
    const client = asUser(shell)
    return {
      connections: (query) => client.connections.list(query, options),
      create: client.connections.create,
      replaceCredential: client.connections.replaceCredential,
      find: (slug) => offered(slug, () => client.providers.presets({}, options).all()),
    }
  }
  const admin = asAdmin(shell)
  const whose = { user_id: await idOf(shell, user) }
  return {
    connections: (query) => admin.connections.list({ ...query, ...whose }, options),
    create: (body, more) => admin.connections.create({ ...body, ...whose }, more),
    replaceCredential: (id, body, more) => admin.connections.replaceCredential(id, { ...body, ...whose }, more),
    find: (slug) => offered(slug, async () => (await admin.providers.presets(options)).presets),
  }
}

async function idOf(shell: Shell, given: string): Promise<string> {
  if (given.startsWith('usr_')) return given
  const wanted = given.toLowerCase()
  for await (const user of asAdmin(shell).users.list({ status: 'active' }, { signal: shell.interrupted }))
    if (user.email?.toLowerCase() === wanted) return user.user_id
  throw usageError(`no active user has the email address "${inLine(given)}"`)
}
