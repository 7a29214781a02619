import type { Mutation } from './mutation.ts'

/** Providers, proposals, and the sandbox that an agent asks for like a provider. */
export const v4Providers: Mutation[] = [
  {
    row: 'What 6: the sandbox needs no approval and no provider',
    file: 'server/src/sandbox/start-sandbox.ts',
    from: "kind: 'sandbox',",
    to: "kind: 'connection',",
  },
  {
    row: 'What 6: an access request for the sandbox is approved at once, and its grant calls the echo',
    file: 'server/src/access-requests/create.ts',
    from: 'if (!provider) return approveSandboxRequest(needs, tx, created, requestId, now)',
    to: 'if (!provider) return created',
  },
  {
    row: 'What 6: an access request for the sandbox tells its callback',
    file: 'server/src/access-requests/sandbox-request.ts',
    from: 'await settleOutside(needs, tx, approved, now)',
    to: 'void settleOutside',
  },
  {
    row: 'What 6: an access request for the sandbox narrows its grant, and reaches the echo alone',
    file: 'server/src/sandbox/start-sandbox.ts',
    from: 'allowedMethods: methods,',
    to: 'allowedMethods: null,',
  },
  {
    row: 'What 6: no person decides an access request for the sandbox',
    file: 'server/src/access-requests/create.ts',
    from: 'wanted.userHint === undefined || !provider ? undefined',
    to: 'wanted.userHint === undefined ? undefined',
  },
  {
    row: 'What 6: no provider can have the slug sandbox',
    file: 'server/src/providers/slug.ts',
    from: 'if (slug !== sandboxSlug) return',
    to: 'if (slug !== slug.toUpperCase()) return',
  },
  {
    row: 'Provider: the public view holds no secrets',
    file: 'server/src/providers/provider-routes.ts',
    from: 'isAdmin ? records.map(details) : records.map(publicView)',
    to: 'records.map(details)',
  },
  {
    row: 'Provider: provider_name is required in a proposal',
    file: 'server/src/providers/proposal-routes.ts',
    from: 'body: ProposeProviderBody,',
    to: 'body: { ...ProposeProviderBody, required: [] },',
  },
  {
    row: 'Provider: provider_name alone is a proposal that waits for an admin',
    file: 'server/src/providers/propose.ts',
    from: 'const isComplete = isEnough(description)',
    to: 'const isComplete = isEnough(description) || true',
  },
  {
    row: 'Provider: slug and every URL of a proposal are optional',
    file: 'server/src/providers/propose.ts',
    from: 'return { metadata: given, client: undefined',
    to: 'return { metadata: {}, client: undefined',
  },
  {
    row: 'Provider: a proposal by name alone can’t become active without endpoints',
    file: 'server/src/providers/change-credentials.ts',
    from: 'metadataOf(found)\n    const isKept',
    to: 'void metadataOf\n    const isKept',
  },
  {
    row: 'Provider: a proposal by name alone reserves no slug',
    file: 'server/src/providers/propose.ts',
    from: 'if (isComplete) await replaceIncomplete(needs, tx, slug, requestId)',
    to: 'void replaceIncomplete',
  },
  {
    row: 'Provider: an admin’s endpoints replace what a proposal named',
    file: 'server/src/providers/propose.ts',
    from: 'isComplete ? defaultApiHosts(metadata) : []',
    to: 'defaultApiHosts(metadata)',
  },
  {
    row: 'Provider: a proposal’s api_hosts are on its own site',
    file: 'server/src/providers/propose.ts',
    from: "const wildcard = entries.findIndex((entry) => entry.startsWith('*'))",
    to: 'const wildcard = -1',
  },
  {
    row: 'Provider: a proposal’s api_hosts are shown to people',
    file: 'server/src/providers/warning.ts',
    from: ' Calls that you approve go to ${hosts}.',
    to: '',
  },
  {
    row: 'Provider: auth_methods and endpoints cannot be changed',
    file: 'server/src/providers/provider-body.ts',
    from: 'return names.find((name) => has(CreateProviderBody, name) && !has(known, name))',
    to: 'return names.find(() => false)',
  },
  {
    row: 'Provider: a removed host ends calls in flight',
    file: 'server/src/grants/calls-in-flight.ts',
    from: 'const isRemoved = host !== null &&',
    to: 'const isRemoved = host === null &&',
  },
  {
    row: 'Provider: a removed host is not asked about credentials',
    file: 'server/src/connections/check-credential.ts',
    from: '  assertListed(provider, host)\n',
    to: '',
  },
  {
    row: 'Provider: a tenant’s credential goes to its own host alone',
    file: 'server/src/proxy/policy.ts',
    from: 'const isOfAccount = rules === undefined ||',
    to: 'const isOfAccount = true ||',
  },
  {
    row: 'Provider: a wildcard over tenants needs a member for the host',
    file: 'server/src/providers/tenant-hosts.ts',
    from: 'if (!isSharedWildcard(entry)) continue',
    to: 'if (entry) continue',
  },
  {
    row: 'Provider: slug names it in connect start and in the callback path',
    file: 'server/src/providers/provider.ts',
    from: '/v4/oauth/callback/${slug}',
    to: '/v4/oauth/callback/provider',
  },
  {
    row: 'Provider: metadata with a device authorization endpoint supports the device flow',
    file: 'server/src/providers/provider.ts',
    from: 'metadata.device_authorization_endpoint !== undefined',
    to: 'metadata.issuer !== undefined',
  },
]
