/** Whatever is changed about an envelope, it is refused with a code of the contract, and the challenge stays usable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { onBothDatabases } from '../../testkit/databases.ts'
import { authEnvelope, authPayload, refresh, register, saveBody, savePayload, seal } from '../../testkit/legacy-v1.ts'
import type { TestClient, TestEnvelope } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

type Member = 'auth_envelope' | 'data_envelope'
const members: Member[] = ['auth_envelope', 'data_envelope']
const bytes = ['encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const
/** All but key_id, which only says where to look. */
const removable = ['v', 'alg', 'enc', ...bytes] as const
const codes = { auth_envelope: 'invalid_auth_envelope', data_envelope: 'payload_invalid' }
/** A body with such a member is no JSON of ours, wherever it stands. */
const anyJson = fc.jsonValue().filter((value) => !/"(?:__proto__|constructor)"/.test(JSON.stringify(value)))
const limits = { numRuns: 40, interruptAfterTimeLimit: 20_000 }

function bodyOf(service: TestService, client: TestClient): Record<Member, TestEnvelope> {
  const body = saveBody(service, client, [{ key: 'a', value: 1 }], { bind: true })
  return {
    data_envelope: { ...body.data_envelope, key_id: client.serviceKeyId },
    auth_envelope: { ...body.auth_envelope, key_id: client.serviceKeyId },
  }
}

onBothDatabases('mutations of envelopes', (engine) => {
  const start = async (t: Parameters<typeof startService>[0]) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const body = bodyOf(service, client)
    // The data_envelope can only be judged under an authentication that is not bound to it as it was.
    const plain = { ...body, auth_envelope: authEnvelope(service, client, 'kv.save') }
    const refuses = async (member: Member, change: (envelope: TestEnvelope) => unknown) => {
      const base = member === 'auth_envelope' ? body : plain
      const reply = await service.call('POST', '/v1/kv/save', { body: { ...base, [member]: change(base[member]) } })
      assert.deepEqual([reply.status, reply.body.error?.code], [400, codes[member]], reply.text)
    }
    return { service, client, body, refuses, works: async () => (await refresh(service, client)).status }
  }

  test('any byte changed is refused', async (t) => {
    const { refuses, works } = await start(t)
    const mutation = fc.record({
      member: fc.constantFrom(...members),
      name: fc.constantFrom(...bytes),
      at: fc.nat(),
      by: fc.integer({ min: 1, max: 255 }),
    })
    await fc.assert(
      fc.asyncProperty(mutation, async ({ member, name, at, by }) => {
        await refuses(member, (envelope) => {
          const changed = Buffer.from(envelope[name] ?? '', 'base64url')
          const place = at % Math.max(1, changed.length)
          // Where there is no aad, one is added.
          if (changed.length === 0) return { ...envelope, [name]: Buffer.from([by]).toString('base64url') }
          changed[place] = (changed[place] ?? 0) ^ by
          return { ...envelope, [name]: changed.toString('base64url') }
        })
      }),
      limits,
    )
    assert.equal(await works(), 200)
  })

  test('any character changed, added or removed is refused', async (t) => {
    const { refuses, works } = await start(t)
    const mutation = fc.record({
      member: fc.constantFrom(...members),
      name: fc.constantFrom(...removable, 'key_id' as const),
      at: fc.nat(),
      insert: fc.constantFrom('', 'A', '=', ' ', '+', '\n', 'é', '\0', '-'),
    })
    await fc.assert(
      fc.asyncProperty(mutation, async ({ member, name, at, insert }) => {
        await refuses(member, (envelope) => {
          const text = envelope[name] ?? 'shared'
          const place = at % Math.max(1, text.length)
          const changed = text.slice(0, place) + insert + text.slice(place + 1)
          return { ...envelope, [name]: changed === text ? `${text}A` : changed }
        })
      }),
      limits,
    )
    assert.equal(await works(), 200)
  })

  test('any member removed or of another type is refused', async (t) => {
    const { refuses, works } = await start(t)
    for (const member of members) {
      for (const name of removable) {
        await refuses(member, (envelope) =>
          Object.fromEntries(Object.entries(envelope).filter(([one]) => one !== name)),
        )
      }
    }
    const mutation = fc.record({
      member: fc.constantFrom(...members),
      name: fc.constantFrom(...removable, 'key_id' as const),
      value: anyJson,
    })
    await fc.assert(
      fc.asyncProperty(mutation, async ({ member, name, value }) => {
        await refuses(member, (envelope) => ({ ...envelope, [name]: value === envelope[name] ? null : value }))
      }),
      limits,
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...members), anyJson, (member, value) => refuses(member, () => value)),
      limits,
    )
    assert.equal(await works(), 200)
  })

  test('any content of an envelope gets an error code of the contract', async (t) => {
    const { service, client, works } = await start(t)
    const names = Object.keys(authPayload(service, client, 'kv.save'))
    const table = new Set(['invalid_auth_envelope', 'challenge_purpose_mismatch', 'challenge_not_found'])
    for (const code of ['challenge_nonce_mismatch', 'payload_invalid']) table.add(code)
    const judge = async (auth: object, data: unknown) => {
      const auth_envelope = seal(client.serviceKey, { ...authPayload(service, client, 'kv.save'), ...auth })
      const body = { auth_envelope, data_envelope: seal(client.serviceKey, data) }
      const reply = await service.call('POST', '/v1/kv/save', { body })
      assert.ok(reply.status < 500 && table.has(reply.body.error?.code as string), reply.text)
    }
    const value = fc.oneof(anyJson, fc.uuid(), fc.date({ noInvalidDate: true }).map(String))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), value, (name, odd) => judge({ [name]: odd }, savePayload([]))),
      limits,
    )
    const item = fc.record({ key: anyJson, value: anyJson, metadata: anyJson })
    const data = fc.oneof(
      anyJson,
      fc.array(anyJson, { minLength: 1 }).map((items) => savePayload(items)),
      fc.array(item, { minLength: 1 }).map((items) => savePayload([...items, null])),
      fc.string({ unit: 'binary' }).map((namespace) => savePayload([{ key: 'a' }], namespace)),
    )
    await fc.assert(
      fc.asyncProperty(data, (odd) => judge({}, odd)),
      limits,
    )
    assert.equal(await works(), 200)
  })

  test('any duplicate member is refused', async (t) => {
    const { service, body, works } = await start(t)
    for (const member of members) {
      for (const [name, value] of Object.entries(body[member])) {
        const again = `${JSON.stringify(name)}:${JSON.stringify(value)},`
        const text = JSON.stringify(body).replace(`"${member}":{`, `"${member}":{${again}`)
        const reply = await service.call('POST', '/v1/kv/save', { body: text })
        assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_field'])
      }
    }
    assert.equal(await works(), 200)
  })
})
