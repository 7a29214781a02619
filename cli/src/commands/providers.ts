import type { CreateProviderBody, Preset, Provider, ProviderDetails } from '@sallyport/sdk'
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
  summary: 'list the providers you can request access to',
  options: {
    status: {
      type: 'text',
      value: 'STATUS',
      choices: ['active', 'pending_credentials', 'disabled', 'all'],
      summary: "filter by status; only an admin sees providers that aren't active",
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
    else shell.output.table(columns, providers, 'No providers. An admin can add one: sallyport providers add')
    return undefined
  },
})

const presetColumns: Column<Preset>[] = [
  { title: 'PRESET', shown: ({ preset }) => preset },
  { title: 'NAME', shown: ({ provider_name }) => provider_name },
  { title: 'REDIRECT URI', shown: ({ redirect_uri }) => redirect_uri },
  { title: 'METHODS', shown: ({ auth_methods }) => auth_methods.map(({ name }) => name).join(',') },
]

export const providersPresets = command({
  name: 'providers presets',
  group: 'operator',
  summary: 'list presets: providers that need only a client ID and secret, or nothing',
  examples: [['sallyport providers presets', 'includes the redirect URI to register']],
  run: async (shell) => {
    const { presets } = await asAdmin(shell).providers.presets({ signal: shell.interrupted })
    if (shell.json) shell.output.json({ presets })
    else shell.output.table<Preset>(presetColumns, presets, 'No presets.')
    return undefined
  },
})

const metadata = {
  name: { type: 'text', value: 'NAME', summary: 'display name' },
  slug: { type: 'text', value: 'SLUG', summary: 'identifier that agents use (default: made from the name)' },
  issuer: { type: 'text', value: 'URL', summary: 'issuer URL, used for discovery' },
  'discovery-url': { type: 'text', value: 'URL', summary: "metadata URL, if not at the issuer's well-known path" },
  'authorization-url': { type: 'text', value: 'URL', summary: 'authorization endpoint, if not discovered' },
  'token-url': { type: 'text', value: 'URL', summary: 'token endpoint, if not discovered' },
  scope: { type: 'texts', value: 'SCOPE', summary: 'scope to request when an account is connected' },
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
  'client-id': { type: 'text', value: 'ID', summary: 'client ID registered with the provider' },
  'client-secret-file': { type: 'text', value: 'FILE', summary: 'file with the client secret; - for standard input' },
  'auth-method': {
    type: 'text',
    value: 'METHOD',
    choices: ['client_secret_basic', 'client_secret_post', 'none'],
    summary: 'client authentication method',
  },
} as const

type AuthMethod = ProviderDetails['token_endpoint_auth_method']

export const providersAdd = command({
  name: 'providers add',
  group: 'operator',
  summary: 'add a provider from a preset or from its metadata',
  options: {
    preset: { type: 'text', value: 'PRESET', summary: 'from: sallyport providers presets' },
    ...metadata,
    'api-host': { type: 'texts', value: 'HOST', summary: 'host that tokens may be sent to, or *.example.com' },
    ...client,
    file: {
      type: 'text',
      value: 'FILE',
      summary: 'file with a JSON body for POST /v4/providers; - for standard input',
    },
  },
  examples: [
    ['sallyport providers add --preset github --client-id Iv1.1 --client-secret-file github-secret', 'from a preset'],
    [
      'sallyport providers add --name Acme --issuer https://login.acme.example --client-id cli',
      'with discovery and a public client',
    ],
  ],
  run: async (shell, options) => {
    const { file, preset } = options
    const [id, secretFile, method] = [options['client-id'], options['client-secret-file'], options['auth-method']]
    if (file === '-' && secretFile === '-')
      throw usageError('only one of --file and --client-secret-file can read standard input')
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
    if (Object.keys(body).length === 0) throw usageError('nothing to add: use --preset, --issuer or --file')
    show(shell, await asAdmin(shell).providers.create(body, { signal: shell.interrupted }))
    return undefined
  },
})

export const providersPropose = command({
  name: 'providers propose',
  group: 'agent',
  summary: 'propose a new provider',
  about:
    'If the provider supports dynamic client registration, it is registered automatically; otherwise an admin has to add credentials.',
  options: {
    ...metadata,
    'api-host': {
      type: 'texts',
      value: 'HOST',
      summary: "API host on the issuer's site, if it isn't the issuer's own",
    },
  },
  examples: [
    ['sallyport providers propose --name Acme --issuer https://login.acme.example', 'users see it as unverified'],
  ],
  run: async (shell, options) => {
    const { name } = options
    if (name === undefined) throw usageError('--name is required: the display name')
    const hosts = options['api-host']
    const proposal = { ...described(options), provider_name: name, ...(hosts.length > 0 && { api_hosts: hosts }) }
    show(shell, await asAgent(shell).proposeProvider(proposal, { signal: shell.interrupted }))
    return undefined
  },
})

const which = [{ name: 'provider', summary: 'slug or provider_id, from: sallyport providers' }] as const

export const providersEndpoints = command({
  name: 'providers endpoints',
  group: 'operator',
  summary: 'set the endpoints missing from a proposal',
  about: 'It becomes active if the provider supports dynamic client registration; otherwise add credentials next.',
  operands: which,
  options: {
    issuer: metadata.issuer,
    'discovery-url': metadata['discovery-url'],
    'authorization-url': metadata['authorization-url'],
    'token-url': metadata['token-url'],
  },
  examples: [['sallyport providers endpoints acme --issuer https://login.acme.example', 'endpoints are discovered']],
  run: async (shell, options, [given = '']) => {
    const body = described({ ...options, name: undefined, slug: undefined, scope: [] })
    if (Object.keys(body).length === 0)
      throw usageError('nothing to set: use --issuer, --discovery-url, or --authorization-url and --token-url')
    const providerId = await idOf(shell, given)
    show(shell, await asAdmin(shell).providers.setEndpoints(providerId, body, { signal: shell.interrupted }))
    return undefined
  },
})

export const providersCredentials = command({
  name: 'providers credentials',
  group: 'operator',
  summary: "change a provider's client ID and secret",
  operands: which,
  options: client,
  examples: [
    [
      'sallyport providers credentials github --client-id Iv1.2 --client-secret-file github-secret',
      'after rotating the secret at the provider',
    ],
  ],
  run: async (shell, options, [given = '']) => {
    const [id, secretFile, method] = [options['client-id'], options['client-secret-file'], options['auth-method']]
    if (id === undefined) throw usageError('--client-id is required: the client ID registered with the provider')
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
    "Existing grants don't cover added hosts: users approve them in a new request. Calls to removed hosts are refused immediately.",
  operands: which,
  options: {
    name: metadata.name,
    scope: { ...metadata.scope, summary: 'scopes to request when an account is connected; replaces the list' },
    'add-api-host': { type: 'texts', value: 'HOST', summary: 'additional host that tokens may be sent to' },
    'remove-api-host': { type: 'texts', value: 'HOST', summary: 'host that tokens may no longer be sent to' },
  },
  examples: [
    ['sallyport providers edit acme --add-api-host api.acme.example', "the API isn't on the issuer's host"],
    ['sallyport providers edit acme --remove-api-host old.acme.example', 'takes effect immediately'],
  ],
  run: async (shell, options, [given = '']) => {
    const [added, removed] = [options['add-api-host'], options['remove-api-host']]
    if (options.name === undefined && options.scope.length + added.length + removed.length === 0)
      throw usageError('nothing to change: use --name, --scope, --add-api-host or --remove-api-host')
    const { provider_id, api_hosts: hosts, updated_at } = await find(shell, given)
    const missing = removed.find((host) => !hosts.includes(host))
    if (missing !== undefined)
      throw usageError(`"${inLine(missing)}" is not one of its hosts: ${hosts.map(inLine).join(', ')}`)
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
    if (!shell.json) shell.output.say(`Allowed API hosts: ${provider.api_hosts.map(inLine).join(', ')}`)
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
  changing('enable', 'enable a disabled provider', 'its connections work again'),
  changing('disable', 'disable a provider: no calls, no new connections', 'nothing is deleted'),
  changing('rediscover', "reload a provider's metadata", 'when its endpoints have changed'),
  changing('delete', 'delete a provider that has no connections', 'permanent'),
]

async function idOf(shell: Shell, given: string): Promise<string> {
  return given.startsWith('prv_') ? given : (await find(shell, given)).provider_id
}

async function find(shell: Shell, given: string): Promise<ProviderDetails> {
  const all = asAdmin(shell).providers.list({ status: 'all' }, { signal: shell.interrupted })
  for await (const provider of all) if (given === provider.slug || given === provider.provider_id) return provider
  throw usageError(`no provider "${inLine(given)}"`, 'List providers: sallyport providers --status all')
}

function show({ output, json }: Shell, provider: ProviderDetails, isGone = false): void {
  const { slug, status, provider_id, redirect_uri, registration_error: problem } = provider
  if (json) {
    output.json(provider)
    return
  }
  output.line(`${inLine(slug)} is ${isGone ? 'deleted' : inLine(status)} (${inLine(provider_id)})`)
  if (isGone) return
  if (problem !== null)
    output.say(output.sayStyle('yellow', `Automatic client registration failed: ${inLine(problem)}`))
  output.say(`Redirect URI to register with the provider: ${inLine(redirect_uri)}`)
}
