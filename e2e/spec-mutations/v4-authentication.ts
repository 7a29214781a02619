import type { Mutation } from './mutation.ts'

export const v4Authentication: Mutation[] = [
  {
    row: "Authentication: each endpoint admits whom the contract's table says",
    file: 'server/src/sessions/session-routes.ts',
    from: "'/v4/auth/login-tokens',\n    {\n      config: { allow: ['admin']",
    to: "'/v4/auth/login-tokens',\n    {\n      config: { allow: ['admin', 'user']",
  },
  {
    row: 'Authentication: each credential opens its own endpoints, and none is no key',
    file: 'server/src/authenticate.ts',
    from: "if (allow === 'anyone') {",
    to: "if (allow === 'anyone' || request.headers.authorization === undefined) {",
  },
  {
    row: 'Authentication: a session as svc_session cookie or as bearer',
    file: 'protocol/src/sessions.ts',
    from: "sessionCookie = 'svc_session'",
    to: "sessionCookie = 'session'",
  },
  {
    row: 'Authentication: a session as svc_session cookie or as bearer',
    file: 'server/src/authenticate.ts',
    from: '      : await bySessionToken(token, needs)',
    to: '      : undefined',
  },
  {
    row: 'Authentication: an endpoint with two schemes accepts either: grants',
    file: 'server/src/grants/grant-routes.ts',
    from: "'/v4/grants',\n    {\n      config: { allow: ['agent', 'user']",
    to: "'/v4/grants',\n    {\n      config: { allow: ['agent']",
  },
  {
    row: 'Authentication: an endpoint with two schemes accepts either: access requests',
    file: 'server/src/access-requests/access-request-routes.ts',
    from: "config: { allow: ['agent', 'user', 'device']",
    to: "config: { allow: ['agent', 'device']",
  },
  {
    row: 'Authentication: a credential that ends before its body is complete changes nothing',
    file: 'server/src/authenticate.ts',
    from: 'if (request.actor && request.isBodyLate)',
    to: 'if (!request.actor && request.isBodyLate)',
  },
  {
    row: 'Authentication: a former agent token makes no call',
    file: 'server/src/call-log/transactional.ts',
    from: "refusals[index] = new ServiceError('unauthenticated')",
    to: 'void refusals',
  },
  {
    row: 'Authentication: a stream ends with the token that opened it',
    file: 'server/src/grants/calls-in-flight.ts',
    from: 'if (hash !== undefined && ended.has(hash))',
    to: "if (hash === '')",
  },
  {
    row: 'Authentication: a credential that ends before its call acts changes nothing',
    file: 'server/src/authenticate.ts',
    from: 'await request.holdCredential(tx)',
    to: 'void request',
  },
  {
    row: 'Authentication: a device session token opens device calls',
    file: 'server/src/authenticate.ts',
    from: '? await byDeviceToken(tokenHash, needs)',
    to: '? undefined',
  },
]
