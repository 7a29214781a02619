/** A call with each kind of credential, compared with one with an OAuth token. */
import { randomBytes } from 'node:crypto'
import type { AuthMethod as GivenMethod } from '@sallyport/protocol/auth-methods'
import { roomy, settingsFor, startService } from '../e2e/running-service.ts'
import { credentialText } from '../server/src/connections/credential.ts'
import { newId } from '../server/src/platform/ids.ts'
import { Secret } from '../server/src/platform/secret.ts'
import { readAuthMethods } from '../server/src/providers/read-auth-methods.ts'
import { nodeOptions } from './contenders.ts'
import { perSecond, micros, spread } from './report.ts'
import type { Row } from './report.ts'
import { compare, median, medianOf, ratios } from './rounds.ts'
import type { Comparison, Contender } from './rounds.ts'
import type { Bench } from './scenarios.ts'
import { agentOf, connectionOf, grantOn, openForSeeding, providerAt } from './seed.ts'

const agentsOfEach = 50
const connections = 16
const key = () => `sk_live_${randomBytes(24).toString('base64url')}`

interface Kind {
  method: (host: string) => GivenMethod
  credential?: () => Record<string, string>
  /** Calls carry a token that was issued. */
  isMinted?: boolean
  path?: string
}

const kinds: Record<string, Kind> = {
  oauth2: { method: () => ({ kind: 'oauth2' }), isMinted: true },
  'api_key in a header': {
    method: () => ({ kind: 'api_key', inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }] }),
    credential: () => ({ api_key: key() }),
  },
  'api_key in the query': {
    method: () => ({ kind: 'api_key', inject: [{ in: 'query', name: 'key', template: '{api_key}' }] }),
    credential: () => ({ api_key: key() }),
  },
  basic: { method: () => ({ kind: 'basic' }), credential: () => ({ username: 'ada', password: key() }) },
  client_credentials: {
    method: () => ({ kind: 'client_credentials' }),
    credential: () => ({ client_id: newId('usr', new Date()), client_secret: key() }),
    isMinted: true,
  },
  aws_sigv4: {
    method: (host) => ({ kind: 'aws_sigv4', signs: [{ host, region: 'us-east-1', service: 'execute-api' }] }),
    credential: () => ({
      access_key_id: 'AKIAIOSFODNN7EXAMPLE',
      secret_access_key: randomBytes(30).toString('base64'),
    }),
  },
}

export async function kindsOfCredentials({ scope, outside, generator, pace, say }: Bench): Promise<Row[]> {
  const { host, caFile, profiles } = outside
  const env = await settingsFor(scope, 'sqlite', {
    ...{ ...roomy, SALLYPORT_EGRESS_ALLOW: host, SALLYPORT_EGRESS_CA_FILE: caFile, SALLYPORT_LOG_LEVEL: 'warn' },
    NODE_OPTIONS: nodeOptions(profiles),
  })
  const callersOf = await seedKinds(env, host)
  const service = await startService(scope, 'sqlite', env)
  scope.after(() => service.stop())
  const contenders = Object.entries(callersOf).map(([name, callers]): Contender => ({
    name,
    port: service.port,
    pid: service.pid,
    callers,
  }))
  const [oauth, ...others] = await compare(generator, contenders, connections, pace, say)
  return oauth ? others.map((one) => rowOf(oauth, one)) : []
}

function rowOf(theirs: Comparison, ours: Comparison): Row {
  const all = ratios(ours, theirs)
  const figures = (one: Comparison) =>
    `${perSecond(medianOf(one, (round) => round.perSecond))}, ${micros(medianOf(one, (round) => round.cpuPerCall))}`
  return {
    what: `${ours.contender.name}, compared with oauth2, SQLite, ${connections} connections`,
    theirs: figures(theirs),
    ours: figures(ours),
    result: spread(all, median(all)),
    bar: '',
    isMet: undefined,
  }
}

async function seedKinds(env: NodeJS.ProcessEnv, host: string): Promise<Record<string, Contender['callers']>> {
  const { database, stores } = await openForSeeding(env)
  const callersOf: Record<string, Contender['callers']> = {}
  for (const [index, [name, kind]] of Object.entries(kinds).entries()) {
    const provider = {
      ...providerAt([host]),
      slug: `kind-${index}`,
      authMethods: readAuthMethods([kind.method(host)], [host]),
    }
    const [method] = provider.authMethods
    await stores.providers.insert(database.queries, provider, new Secret(key()))
    callersOf[name] = await database.transaction(async (tx) => {
      const callers: Contender['callers'] = []
      while (callers.length < agentsOfEach) {
        const now = new Date()
        const { agent, token, tokenHash } = agentOf(now)
        const userId = newId('usr', now)
        await stores.agents.insert(tx, agent, tokenHash)
        const user = { userId, handle: null, name: null, email: null, createdAt: now }
        await stores.users.insert(tx, { ...user, disabledAt: null, requiresDevice: false })
        const connection = { ...connectionOf(userId, provider, now), authMethod: method?.name ?? '' }
        const entered = Object.entries(kind.credential?.() ?? {}).map(([member, value]) => [member, new Secret(value)])
        await stores.connections.insert(tx, connection, {
          ...{ expiresAt: kind.isMinted ? new Date(now.getTime() + 86_400_000) : null, obtainedAt: now },
          ...(kind.isMinted && { accessToken: new Secret(key()) }),
          ...(kind.credential && { credential: credentialText(Object.fromEntries(entered) as Record<string, Secret>) }),
        })
        const grant = grantOn(connection, agent.agentId, [host], now)
        await stores.grants.insert(tx, grant, null)
        const call = { grant_id: grant.grantId, method: 'GET', url: `https://${host}/small` }
        callers.push({ token, body: JSON.stringify(call) })
      }
      return callers
    })
  }
  await database.close()
  return callersOf
}
