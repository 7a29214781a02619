/** Rules of v4 about changing and pausing what was granted. */
import type { Mutation } from './mutation.ts'

export const v4Grants: Mutation[] = [
  {
    row: 'PATCH /v4/grants/{id}',
    file: 'server/src/access-requests/changed-terms.ts',
    from: '...termsOf(grant), allowedHosts: listed',
    to: 'allowedHosts: listed',
  },
  {
    row: 'POST /v4/grants/{id}/challenge',
    file: 'server/src/access-requests/change-grant.ts',
    from: 'if (isWider || signature) judgeScope(user, decider, sent, signature)',
    to: '',
  },
  {
    row: 'GET /v4/grants/{id}/usage',
    file: 'server/src/call-log/grant-use-routes.ts',
    from: "event: 'proxy.attempt' as const, since }",
    to: "event: 'proxy.attempt' as const }",
  },
  {
    row: 'A changed grant is never wider than its request',
    file: 'server/src/access-requests/changed-terms.ts',
    from: '    request,\n    provider,',
    to: '    { hosts: null, methods: null, paths: null, maxCalls: null },\n    provider,',
  },
  {
    row: 'A change of terms ends calls that it does not cover',
    file: 'server/src/grants/calls-in-flight.ts',
    from: 'if (reason) call.controller.abort(reason)\n      }\n    }\n  }\n\n  const endThoseAtRemovedHosts',
    to: '}\n    }\n  }\n\n  const endThoseAtRemovedHosts',
  },
  {
    row: 'A receipt stays true when its grant is changed',
    file: 'server/src/access-requests/change-grant.ts',
    from: 'isWider || !earlier ?',
    to: '!earlier ?',
  },
  {
    row: 'A pause ends calls in progress everywhere',
    file: 'server/src/grants/grant-store.ts',
    from: ', sql<boolean>`${isPaused}`',
    to: '',
  },
  {
    row: 'A pause stops a call at its next wait',
    file: 'server/src/grants/usable.ts',
    from: "if (grant.isPaused) return 'paused'",
    to: '',
  },
  {
    row: 'POST /v4/access-requests/{id}/renew',
    file: 'server/src/access-requests/renew.ts',
    from: '!mayDecide(ended, user)',
    to: '!user',
  },
  {
    row: 'GET /v4/agent-names',
    file: 'server/src/access-requests/agent-name-store.ts',
    from: "      .where('user_id', '=', userId)\n      .$if(page.before",
    to: '      .$if(page.before',
  },
  {
    row: 'PUT, DELETE /v4/agent-names/{id}',
    file: 'server/src/access-requests/agent-name-routes.ts',
    from: 'if (!(await accessRequests.hasAsked(tx, agentId, userId)))',
    to: 'if (!(await accessRequests.hasAsked(tx, agentId, userId)) && !agentId)',
  },
  {
    row: 'GET, PUT, DELETE /v4/mail',
    file: 'server/src/mail/gather-news.ts',
    from: 'createdAt > requestsAfter &&',
    to: 'createdAt > new Date(0) &&',
  },
]
