import type { Connection } from '@sallyport/sdk'
import { command } from '../command.ts'
import { memberOptions, readCredential, secretAsArgument } from '../credential-input.ts'
import type { Method } from '../credential-input.ts'
import { usageError } from '../failures.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import { personOf, userOption } from '../person.ts'
import type { Offer } from '../person.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'
import { fromNow } from '../times.ts'

const columns: Column<Connection>[] = [
  { title: 'CONNECTION', shown: ({ connection_id }) => connection_id },
  { title: 'PROVIDER', shown: ({ provider }) => provider ?? '-' },
  {
    title: 'STATUS',
    shown: ({ status }) => status,
    look: ({ status }) => (status === 'active' ? 'green' : 'yellow'),
  },
  { title: 'METHOD', shown: ({ auth_method }) => auth_method },
  { title: 'ACCOUNT', shown: ({ account_label }) => account_label ?? '-' },
  {
    title: 'LAST USED',
    shown: ({ last_used_at }) => fromNow(last_used_at, 'never'),
    exact: ({ last_used_at }) => last_used_at ?? '-',
  },
]

export const connectionsList = command({
  name: 'connections list',
  group: 'person',
  summary: 'list your accounts at providers',
  options: {
    status: {
      type: 'text',
      value: 'STATUS',
      choices: ['active', 'needs_reauth', 'revoked'],
      summary: 'filter by status',
    },
    ...limitOption,
    ...userOption,
  },
  examples: [['sallyport connections', 'newest first']],
  run: async (shell, { status, limit, user }) => {
    const person = await personOf(shell, user)
    const query = { ...(status !== undefined && { status: status as Connection['status'] }) }
    const connections = await take(person.connections(query), limit)
    if (shell.json) shell.output.json({ connections })
    else shell.output.table(columns, connections, 'No connections. Add one: sallyport connections add PROVIDER')
    return undefined
  },
})

interface Row {
  method: Method
  name: string
  label: string
  input: string
}

const memberColumns: Column<Row>[] = [
  { title: 'METHOD', shown: ({ method }) => method.name },
  { title: 'MEMBER', shown: ({ name }) => name },
  { title: 'INPUT', shown: ({ input }) => input },
  { title: 'LABEL', shown: ({ label }) => label },
]

export const connectionsAdd = command({
  name: 'connections add',
  group: 'person',
  summary: 'connect an account with a credential, such as an API key',
  about: `Secrets are asked for on a terminal, without showing them, or read from standard input or files, never from the
command line. The provider is asked whether it accepts the credential; if not, nothing is stored.
An account that takes a sign-in at the provider (OAuth) is connected in the console.`,
  operands: [{ name: 'provider', summary: 'slug, from: sallyport providers, or a preset such as stripe' }],
  options: {
    method: { type: 'text', value: 'METHOD', summary: 'if the provider has several' },
    ...memberOptions,
    members: { type: 'boolean', summary: 'list what the provider asks for, and connect nothing' },
    label: { type: 'text', value: 'NAME', summary: 'name of the account' },
    ...userOption,
  },
  examples: [
    ['sallyport connections add stripe', 'asks for the key'],
    ['pass show stripe | sallyport connections add stripe --label Shop', 'from a password manager'],
    [
      'sallyport connections add aws --member access_key_id=AKIAIOSFODNN7EXAMPLE --member-file secret_access_key=key',
      'a secret from a file',
    ],
    ['sallyport connections add github --members', 'lists the fields of the credential'],
  ],
  onStrayWord: secretAsArgument,
  run: async (shell, options, [slug = '']) => {
    const person = await personOf(shell, options.user)
    const provider = await person.find(slug)
    if (!provider) {
      const hint = 'List providers: sallyport providers. Any other has to be added by an administrator'
      throw usageError(`there is no provider "${inLine(slug)}" to connect`, hint)
    }
    if (options.members) {
      showMembers(shell, provider)
      return undefined
    }
    const method = methodOf(provider, options.method)
    sayHelp(shell, provider, method)
    const credential = await readCredential(shell, method, options)
    const label = options.label
    const body = { provider_slug: slug, auth_method: method.name, credential, ...(label !== undefined && { label }) }
    const connection = await person.create(body, { signal: shell.interrupted })
    show(shell, connection, 'Connected')
    return undefined
  },
})

export const connectionsReplace = command({
  name: 'connections replace',
  group: 'person',
  summary: 'replace the credential of a connection',
  about: `Grants stay if the provider says that the new credential belongs to the same account. If it can't tell, all grants of
the connection end; --end-grants says that you know.`,
  operands: [{ name: 'connection', summary: 'connection_id, from: sallyport connections' }],
  options: {
    ...memberOptions,
    'end-grants': { type: 'boolean', summary: 'replace it even if that ends its grants' },
    ...userOption,
  },
  examples: [['sallyport connections replace con_01k9x3v7qmf5v8t2w4y6z8abcd < new-key', 'after rotating a key']],
  onStrayWord: secretAsArgument,
  run: async (shell, options, [id = '']) => {
    const person = await personOf(shell, options.user)
    const found = await connectionOf(person.connections({}), id)
    const provider = found.provider === null ? undefined : await person.find(found.provider)
    const method = provider?.auth_methods.find(({ name }) => name === found.auth_method)
    if (found.auth_method === 'oauth2')
      throw usageError('this account is connected by OAuth: sign in again in the console')
    if (!provider || !method) throw usageError('the provider of this connection is not active')
    if (method.checks !== 'account' && !options['end-grants']) {
      throw usageError(
        `${inLine(provider.provider_name)} can't tell whose credential it is, so all grants of this connection would end`,
        'To replace it nevertheless: --end-grants',
      )
    }
    sayHelp(shell, provider, method)
    const credential = await readCredential(shell, method, options)
    const connection = await person.replaceCredential(id, { credential }, { signal: shell.interrupted })
    show(shell, connection, 'Replaced the credential of')
    return undefined
  },
})

function formsOf({ auth_methods: methods }: Offer): Method[] {
  return methods.filter(({ kind }) => kind !== 'oauth2')
}

function methodOf(provider: Offer, wanted: string | undefined): Method {
  const forms = formsOf(provider)
  const names = forms.map(({ name }) => inLine(name)).join(', ')
  const [only, ...others] = forms
  if (!only) {
    throw usageError(
      `${inLine(provider.provider_name)} takes no credential: sign in to it in the console, under Connections`,
    )
  }
  if (wanted === undefined && others.length === 0) return only
  const method = forms.find(({ name }) => name === wanted)
  if (method) return method
  throw usageError(
    `--method: expected one of ${names}`,
    `What each asks for: sallyport connections add ${provider.slug} --members`,
  )
}

async function connectionOf(connections: AsyncIterable<Connection>, id: string): Promise<Connection> {
  for await (const one of connections) if (one.connection_id === id && one.status !== 'revoked') return one
  throw usageError('you have no connection with this id', 'List them: sallyport connections')
}

function showMembers({ output, json }: Shell, provider: Offer): void {
  const methods = formsOf(provider)
  if (json) {
    output.json({ provider: provider.slug, auth_methods: methods, docs: provider.docs })
    return
  }
  const rows = methods.flatMap((method) =>
    method.members.map(({ name, label, secret, optional, format }) => ({
      ...{ method, name, label: label ?? method.label ?? '-' },
      input: `${secret ? 'secret' : 'text'}${format === 'text' ? '' : ` ${format} file`}${optional ? ', optional' : ''}`,
    })),
  )
  output.table(memberColumns, rows, `${inLine(provider.provider_name)} takes no credential.`)
  for (const method of methods)
    if (method.help !== null) output.say(`${inLine(method.label ?? method.name)}: ${inLine(method.help)}`)
}

/** Where to get it, for someone who is about to be asked for it. */
function sayHelp({ output, ask }: Shell, { docs: [page] }: Offer, { help }: Method): void {
  if (!ask) return
  if (help !== null) output.say(output.sayStyle('dim', inLine(help)))
  if (page !== undefined) output.say(output.sayStyle('dim', inLine(page)))
}

function show({ output, json }: Shell, connection: Connection, what: string): void {
  if (json) {
    output.json(connection)
    return
  }
  const { connection_id: id, provider_name: provider, account_label: label } = connection
  output.line(inLine(id))
  const whose = label === null ? '' : ` as ${inLine(label)}`
  output.say(`${output.sayStyle('green', '✓')} ${what} ${inLine(provider)}${whose}`)
}
