import type { CreateProviderBody, Provider, ProviderDetails } from '@sallyport/sdk'
import { asAdmin, asAgent, asAnyone } from '../clients.ts'
import { command } from '../command.ts'
import { usageError } from '../failures.ts'
import { parseJson, readInput, readSecret } from '../input-files.ts'
import { limitOption, take } from '../listed.ts'
import type { Column } from '../output.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'

const columns: Column<Provider>[] = [
  { title: 'PROVIDER', shown: ({ slug }) => slug },
  { title: 'NAME', shown: ({ provider_name }) => provider_name },
  { title: 'STATUS', shown: ({ status }) => status, look: ({ status }) => (status === 'active' ? 'green' : 'yellow') },
  {
    title: 'VERIFIED',
    shown: ({ verified }) => (verified ? 'yes' : 'no'),
    look: ({ verified }) => (verified ? undefined : 'yellow'),
  },
  { title: 'HOSTS', shown: ({ api_hosts }) => api_hosts.join(',') },
]

export const providersList = command({
  name: 'providers list',
  group: 'agent',
  summary: 'list the providers that can be asked for',
  options: {
    status: {
      type: 'text',
      value: 'STATUS',
      choices: ['active', 'pending_credentials', 'disabled', 'all'],
      summary: 'others than the active ones are shown to an admin',
    },
    ...limitOption,
  },
  examples: [
    ['sallyport providers', 'needs no token'],
    ['sallyport providers --status all', 'as admin'],
  ],
  run: async (shell, { status, limit }) => {
    const options = { signal: shell.interrupted }
    const listing =
      status === undefined || status === 'active'
        ? asAnyone(shell).providers.list({}, options)
        : asAdmin(shell).providers.list({ status: status as Provider['status'] | 'all' }, options)
    const providers = await take<Provider>(listing, limit)
    if (shell.json) shell.output.json({ providers })
    else shell.output.table(columns, providers, 'No providers. An admin adds one: sallyport providers add')
    return undefined
  },
})

interface Preset {
  preset: string
  provider_name: string
  redirect_uri: string
  api_hosts: string[]
}

const presetColumns: Column<Preset>[] = [
  { title: 'PRESET', shown: ({ preset }) => preset },
  { title: 'NAME', shown: ({ provider_name }) => provider_name },
  { title: 'REGISTER ITS APP WITH', shown: ({ redirect_uri }) => redirect_uri },
]

export const providersPresets = command({
  name: 'providers presets',
  group: 'operator',
  summary: 'list the providers that need no more than a client id and its secret',
  examples: [['sallyport providers presets', 'and what to register an app there with']],
  run: async (shell) => {
    const { presets } = await asAdmin(shell).providers.presets({ signal: shell.interrupted })
    if (shell.json) shell.output.json({ presets })
    else shell.output.table<Preset>(presetColumns, presets, 'No presets.')
    return undefined
  },
})

const metadata = {
  name: { type: 'text', value: 'NAME', summary: 'what people see' },
  slug: { type: 'text', value: 'SLUG', summary: 'what agents ask for; made from the name where it is missing' },
  issuer: { type: 'text', value: 'URL', summary: 'its issuer, from where the rest is discovered' },
  'discovery-url': { type: 'text', value: 'URL', summary: 'its metadata, where that is elsewhere' },
  'authorization-url': { type: 'text', value: 'URL', summary: 'where people consent, if it is not discovered' },
  'token-url': { type: 'text', value: 'URL', summary: 'where codes become tokens, if it is not discovered' },
  scope: { type: 'texts', value: 'SCOPE', summary: 'what to ask for when an account is connected' },
} as const

function described(options: {
  name: string | undefined
  slug: string | undefined
  issuer: string | undefined
  'discovery-url': string | undefined
  'authorization-url': string | undefined
  'token-url': string | undefined
  scope: string[]
}) {
  return {
    ...(options.name !== undefined && { provider_name: options.name }),
    ...(options.slug !== undefined && { slug: options.slug }),
    ...(options.issuer !== undefined && { issuer_url: options.issuer }),
    ...(options['discovery-url'] !== undefined && { discovery_url: options['discovery-url'] }),
    ...(options['authorization-url'] !== undefined && { authorization_url: options['authorization-url'] }),
    ...(options['token-url'] !== undefined && { token_url: options['token-url'] }),
    ...(options.scope.length > 0 && { scopes: options.scope }),
  }
}

const client = {
  'client-id': { type: 'text', value: 'ID', summary: 'the client that was registered there' },
  'client-secret-file': { type: 'text', value: 'FILE', summary: 'a file with its secret; - for standard input' },
  'auth-method': {
    type: 'text',
    value: 'METHOD',
    choices: ['client_secret_basic', 'client_secret_post', 'none'],
    summary: 'how it authenticates',
  },
} as const

type AuthMethod = ProviderDetails['token_endpoint_auth_method']

export const providersAdd = command({
  name: 'providers add',
  group: 'operator',
  summary: 'add a provider, by preset or by its metadata',
  options: {
    preset: { type: 'text', value: 'PRESET', summary: 'as in: sallyport providers presets' },
    ...metadata,
    'api-host': { type: 'texts', value: 'HOST', summary: "where the provider's tokens may go, or *.example.com" },
    ...client,
    file: {
      type: 'text',
      value: 'FILE',
      summary: 'a JSON object with any members of POST /v4/providers; - for standard input',
    },
  },
  examples: [
    ['sallyport providers add --preset github --client-id Iv1.1 --client-secret-file github-secret', 'a preset'],
    [
      'sallyport providers add --name Acme --issuer https://login.acme.example --client-id cli',
      'discovered; a public client',
    ],
  ],
  run: async (shell, options) => {
    const { file, preset } = options
    const [id, secretFile, method] = [options['client-id'], options['client-secret-file'], options['auth-method']]
    if (file === '-' && secretFile === '-')
      throw usageError('standard input can be --file or --client-secret-file, not both')
    const given =
      file === undefined ? {} : parseJson((await readInput(shell, file, '--file')).toString('utf8'), '--file')
    const secret = secretFile === undefined ? undefined : await readSecret(shell, secretFile, '--client-secret-file')
    const body = {
      ...(given as CreateProviderBody),
      ...(preset !== undefined && { preset }),
      ...described(options),
      ...(options['api-host'].length > 0 && { api_hosts: options['api-host'] }),
      ...(id !== undefined && { client_id: id }),
      ...(secret !== undefined && { client_secret: secret }),
      ...(method !== undefined && { token_endpoint_auth_method: method as AuthMethod }),
    }
    if (Object.keys(body).length === 0) throw usageError('there is nothing to add: give --preset, --issuer or --file')
    show(shell, await asAdmin(shell).providers.create(body, { signal: shell.interrupted }))
    return undefined
  },
})

export const providersPropose = command({
  name: 'providers propose',
  group: 'agent',
  summary: 'propose a provider that is not there yet',
  about: 'It is registered with by itself where the provider lets anyone; otherwise it waits for an admin.',
  options: metadata,
  examples: [
    ['sallyport providers propose --name Acme --issuer https://login.acme.example', 'people will see it as unverified'],
  ],
  run: async (shell, options) => {
    const { name } = options
    if (name === undefined) throw usageError('--name is missing: what people see')
    const proposal = { ...described(options), provider_name: name }
    show(shell, await asAgent(shell).proposeProvider(proposal, { signal: shell.interrupted }))
    return undefined
  },
})

const which = [{ name: 'provider', summary: 'its slug or provider_id, as in: sallyport providers' }] as const

export const providersEndpoints = command({
  name: 'providers endpoints',
  group: 'operator',
  summary: 'set the endpoints that a proposal lacks',
  about: 'It becomes active where the provider registers us; otherwise give it credentials next.',
  operands: which,
  options: {
    issuer: metadata.issuer,
    'discovery-url': metadata['discovery-url'],
    'authorization-url': metadata['authorization-url'],
    'token-url': metadata['token-url'],
  },
  examples: [['sallyport providers endpoints acme --issuer https://login.acme.example', 'the rest is discovered']],
  run: async (shell, options, [given = '']) => {
    const body = described({ ...options, name: undefined, slug: undefined, scope: [] })
    if (Object.keys(body).length === 0)
      throw usageError(
        'there is nothing to set: give --issuer, --discovery-url, or --authorization-url and --token-url',
      )
    const providerId = await idOf(shell, given)
    show(shell, await asAdmin(shell).providers.setEndpoints(providerId, body, { signal: shell.interrupted }))
    return undefined
  },
})

export const providersCredentials = command({
  name: 'providers credentials',
  group: 'operator',
  summary: "change a provider's client id and secret",
  operands: which,
  options: client,
  examples: [
    [
      'sallyport providers credentials github --client-id Iv1.2 --client-secret-file github-secret',
      'after a rotation there',
    ],
  ],
  run: async (shell, options, [given = '']) => {
    const [id, secretFile, method] = [options['client-id'], options['client-secret-file'], options['auth-method']]
    if (id === undefined) throw usageError('--client-id is missing: the client that was registered there')
    const secret = secretFile === undefined ? undefined : await readSecret(shell, secretFile, '--client-secret-file')
    const body = {
      client_id: id,
      ...(secret !== undefined && { client_secret: secret }),
      ...(method !== undefined && { token_endpoint_auth_method: method as AuthMethod }),
    }
    const providerId = await idOf(shell, given)
    show(shell, await asAdmin(shell).providers.setCredentials(providerId, body, { signal: shell.interrupted }))
    return undefined
  },
})

export const providersEdit = command({
  name: 'providers edit',
  group: 'operator',
  summary: "change a provider's name, scopes or API hosts",
  about:
    'Existing grants do not reach a host that is added: people approve it anew. A host that is removed is refused with the next call.',
  operands: which,
  options: {
    name: metadata.name,
    scope: { ...metadata.scope, summary: 'all scopes to ask for when an account is connected' },
    'add-api-host': { type: 'texts', value: 'HOST', summary: "where the provider's tokens may go too" },
    'remove-api-host': { type: 'texts', value: 'HOST', summary: 'where they may go no longer' },
  },
  examples: [
    ['sallyport providers edit acme --add-api-host api.acme.example', "the API isn't on the issuer's host"],
    ['sallyport providers edit acme --remove-api-host old.acme.example', 'with the next call'],
  ],
  run: async (shell, options, [given = '']) => {
    const [added, removed] = [options['add-api-host'], options['remove-api-host']]
    if (options.name === undefined && options.scope.length + added.length + removed.length === 0)
      throw usageError('there is nothing to change: give --name, --scope, --add-api-host or --remove-api-host')
    const { provider_id, api_hosts: hosts, updated_at } = await find(shell, given)
    const missing = removed.find((host) => !hosts.includes(host))
    if (missing !== undefined)
      throw usageError(`"${inLine(missing)}" is not among its hosts: ${hosts.map(inLine).join(', ')}`)
    const body = {
      ...(options.name !== undefined && { provider_name: options.name }),
      ...(options.scope.length > 0 && { scopes: options.scope }),
      ...(added.length + removed.length > 0 && {
        api_hosts: [...new Set([...hosts.filter((host) => !removed.includes(host)), ...added])],
      }),
      if_updated_at: updated_at,
    }
    const provider = await asAdmin(shell).providers.update(provider_id, body, { signal: shell.interrupted })
    show(shell, provider)
    if (!shell.json) shell.output.say(`Its tokens may go to: ${provider.api_hosts.map(inLine).join(', ')}`)
    return undefined
  },
})

function changing(verb: 'enable' | 'disable' | 'rediscover' | 'delete', summary: string, example: string) {
  return command({
    name: `providers ${verb}`,
    group: 'operator',
    summary,
    operands: which,
    examples: [[`sallyport providers ${verb} github`, example]],
    run: async (shell, _options, [given = '']) => {
      const providerId = await idOf(shell, given)
      show(shell, await asAdmin(shell).providers[verb](providerId, { signal: shell.interrupted }), verb === 'delete')
      return undefined
    },
  })
}

export const providerChanges = [
  changing('enable', 'let a disabled provider be used again', 'its connections work again'),
  changing('disable', 'stop all use of a provider', 'nothing of it is deleted'),
  changing('rediscover', "read a provider's metadata anew", 'when its addresses have changed'),
  changing('delete', 'delete a provider that nobody is connected to', 'for good'),
]

async function idOf(shell: Shell, given: string): Promise<string> {
  return given.startsWith('prv_') ? given : (await find(shell, given)).provider_id
}

async function find(shell: Shell, given: string): Promise<ProviderDetails> {
  const all = asAdmin(shell).providers.list({ status: 'all' }, { signal: shell.interrupted })
  for await (const provider of all) if (given === provider.slug || given === provider.provider_id) return provider
  throw usageError(`there is no provider "${inLine(given)}"`, 'See them: sallyport providers --status all')
}

function show({ output, json }: Shell, provider: ProviderDetails, isGone = false): void {
  const { slug, status, provider_id, redirect_uri, registration_error: problem } = provider
  if (json) {
    output.json(provider)
    return
  }
  output.line(`${inLine(slug)} is ${isGone ? 'deleted' : inLine(status)} (${inLine(provider_id)})`)
  if (isGone) return
  if (problem !== null) output.say(output.sayStyle('yellow', `No client could be registered there: ${inLine(problem)}`))
  output.say(`Register its app with this redirect URI: ${inLine(redirect_uri)}`)
}
