import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

const hour = 3600

const oddities = {
  'a scope that is null': { scope: null },
  'an end that is null': { expires_in: null },
  'an end that is no number': { expires_in: 'soon' },
  'an end that is past': { expires_in: -1 },
  'an end in words of digits': { expires_in: '3600' },
  'no type': { token_type: undefined },
  'an id token that is none': { id_token: 'a.b.c' },
  'an id token that is null': { id_token: null },
}

onBothDatabases('refreshed tokens are stored', (engine) => {
  test('whatever other members the response has, as the old ones are already invalid', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    for (const [what, odd] of Object.entries(oddities)) {
      const id = await service.connect(service.user, what.replaceAll(' ', '-'))
      service.clock.advance(hour)
      const lift = service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, ...odd }))
      const { accessToken, version } = await freshTokenOf(service)(id)
      lift()
      assert.equal(await service.oauth.accepts(accessToken.reveal()), true, what)
      service.clock.advance(hour)
      assert.equal((await freshTokenOf(service)(id, version)).version, version + 1, what)
    }
  })

  test('with the existing refresh token if the new one is empty', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: false } })
    for (const empty of ['', null]) {
      const id = await service.connect(service.user, `empty-${typeof empty}`)
      service.clock.advance(hour)
      const lift = service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, refresh_token: empty }))
      const { version } = await freshTokenOf(service)(id)
      lift()
      service.clock.advance(hour)
      assert.equal((await freshTokenOf(service)(id)).version, version + 1)
    }
  })
})
