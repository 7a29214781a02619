import type { Mutation } from './mutation.ts'

export const promises: Mutation[] = [
  {
    row: '1. No credential leaves',
    file: 'server/src/agents/register.ts',
    from: 'await agents.insert(tx, agent, hashToken(accessToken))',
    to: 'await agents.insert(tx, { ...agent, name: accessToken.reveal() }, hashToken(accessToken))',
  },
  {
    row: '2. Nothing without approval',
    file: 'server/src/proxy/judge.ts',
    from: "if (!standing) throw new ServiceError('grant_not_found', { field: 'grant_id' })",
    to: "if (!standing) throw new ServiceError('not_found')",
  },
  {
    row: '3. The token goes only where it may',
    file: 'server/src/grants/grant.ts',
    from: "return kind === 'sandbox' ? allowedHosts.includes(host)",
    to: "return kind === 'sandbox' ? true",
  },
  {
    row: '4. Act only on record',
    file: 'server/src/proxy/admit.ts',
    from: 'await callLog.begin(call)',
    to: 'void callLog',
  },
  {
    row: '5. One use means one',
    file: 'server/src/sessions/login-token-store.ts',
    from: '.set({ used_at: now.getTime() })',
    to: '.set({ used_at: null })',
  },
  {
    row: '6. A refresh is never lost',
    file: 'server/src/connections/fresh-token.ts',
    from: "if (!(await refreshes.takeLease(database.queries, connection, lease))) return 'busy'",
    to: 'await refreshes.takeLease(database.queries, connection, lease)',
  },
  {
    row: '7. Bad input gets a clear answer',
    file: 'server/src/platform/http/error-replies.ts',
    from: "const field = path.length > 0 ? path.join('.') : context",
    to: 'const field = context',
  },
  {
    row: 'What is answered is kept',
    file: 'server/src/agents/register.ts',
    from: 'await database.transaction(async (tx) => {',
    to: 'void database.transaction(async (tx) => {\n    await new Promise((resolve) => setTimeout(resolve, 20))',
  },
  {
    row: 'Keys rotate without downtime',
    file: 'server/src/platform/vault/rotate.ts',
    from: "await tx.deleteFrom('vault_keys').where('active', 'is', null).execute()",
    to: 'void tx',
  },
  {
    row: 'A lost database answers 503 and comes back (PostgreSQL)',
    file: 'server/src/platform/http/error-replies.ts',
    from: 'if (isUnavailable(error)) return',
    to: 'if (isUnavailable(undefined)) return',
  },
  {
    row: 'A lost database answers 503 and comes back (SQLite)',
    file: 'server/src/platform/http/error-replies.ts',
    from: 'if (isUnavailable(error)) return',
    to: 'if (isUnavailable(undefined)) return',
  },
  {
    row: 'A full disk answers 503 and comes back',
    file: 'server/src/platform/http/error-replies.ts',
    from: 'if (isUnavailable(error)) return',
    to: 'if (isUnavailable(undefined)) return',
  },
  {
    row: 'A stop cuts off no call',
    file: 'server/src/main.ts',
    from: 'const tooLate = sleep(config.stopSeconds * 1000,',
    to: 'const tooLate = sleep(0,',
  },
  {
    row: 'A backup has all that was committed before',
    file: 'server/src/commands/backup.ts',
    from: 'await copySnapshot(realpathSync(file), draft)',
    to: 'copyFileSync(realpathSync(file), draft)',
    also: {
      file: 'server/src/commands/backup.ts',
      from: 'import { existsSync, realpathSync, statSync }',
      to: 'import { copyFileSync, existsSync, realpathSync, statSync }',
    },
  },
  {
    row: 'A restore brings back nothing that was taken away',
    file: 'server/src/commands/restore/carry-over.ts',
    from: "['revoked_at', 'revoked_by']),",
    to: "['revoked_by']),",
  },
  {
    row: 'A restore explains only what it left out',
    file: 'server/src/audit/restoration.ts',
    from: 'if (head.at > at.getTime() || ',
    to: 'if (',
  },
  {
    row: 'https served directly',
    file: 'server/src/platform/http/security-headers.ts',
    from: "baseUrl.protocol === 'https:'",
    to: "baseUrl.protocol !== 'https:'",
  },
  {
    row: 'Telemetry carries no path, query, body or credential',
    file: 'server/src/platform/http/request-spans.ts',
    from: "'http.route': route,",
    to: "'http.route': request.url,",
  },
  {
    row: 'Upstreams get no trace ids unless their provider is listed',
    file: 'server/src/proxy/trace-calls.ts',
    from: 'isVerified(provider) && tracedProviders.includes(slug)',
    to: 'isVerified(provider) && tracedProviders.length >= 0 && slug.length > 0',
  },
]
