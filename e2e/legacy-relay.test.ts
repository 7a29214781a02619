/** Attacks by a relay between the service and a legacy client that uses binding and a pinned key. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resultProof } from '@sallyport/protocol/v1/binding'
import { LegacyError } from '@sallyport/sdk'
import { openEnvelope, seal } from '../sdk/src/legacy-v1/envelope.ts'
import { fingerprintOf, publicPem } from '../sdk/src/legacy-v1/keys.ts'
import { clientOf, keyFor, roomyForLegacy, through, valuesOf } from './legacy-clients.ts'
import type { Relay } from './legacy-clients.ts'
import { sharedService } from './running-service.ts'

const withCode =
  (...codes: string[]) =>
  (error: unknown) =>
    error instanceof LegacyError && codes.includes(error.code)

const emptyResult = { v: 'ksp1', type: 'kv.read.result', namespace: 'mine', items: [], missing: ['a'] }
const nobody = '0198f0aa-0000-4000-8000-000000000001'

/** An envelope that anyone can make for a public key. */
function challengeOf(client_uuid: string, nonce: Uint8Array) {
  const [issued_at, expires_at] = [0, 300_000].map((ms) => new Date(Date.now() + ms).toISOString())
  return {
    ...{ v: 'ksp1', type: 'challenge', purpose: 'authai.operation', client_uuid, challenge_id: nobody },
    ...{ nonce: Buffer.from(nonce).toString('base64url'), issued_at, expires_at },
  }
}

describe('a relay', () => {
  const service = sharedService('sqlite', roomyForLegacy)

  /** A client with stored values. The relay's behaviour can be changed at any time. */
  async function startRelayed() {
    const relay: Relay = {}
    const { client, key } = await clientOf(service(), { fetch: through(relay) })
    await client.save('mine', [{ key: 'a', value: 'true' }])
    const goesOnAsBefore = async () => {
      delete relay.request
      delete relay.answer
      assert.deepEqual(valuesOf(await client.read('mine', ['a'])), { a: 'true' })
    }
    return { client, key, relay, goesOnAsBefore }
  }

  test('that replaces the service key gets nothing from a client with a pinned key', async () => {
    const own = await keyFor(service())
    const pem = await publicPem(own.publicKey)
    const fingerprint = await fingerprintOf(own.publicKey)
    const heard: string[] = []
    const answer: Relay['answer'] = (path, body) => {
      heard.push(path)
      return { ...body, authai_public_key: pem, fingerprint }
    }
    const { client } = await clientOf(service(), { fetch: through({ answer }) })
    await assert.rejects(client.save('mine', [{ key: 'a', value: 'secret' }]), withCode('service_key_mismatch'))
    assert.deepEqual(heard, ['/v1/authai/public-key'])
  })

  test('that replaces the service key in a registration response is refused', async () => {
    const own = await keyFor(service())
    const pem = await publicPem(own.publicKey)
    const heard: unknown[] = []
    const relay: Relay = {
      request: (_path, body) => {
        heard.push(...[body.auth_envelope, body.data_envelope].filter((one) => one !== undefined))
        return body
      },
      answer: (path, body) => (path.endsWith('/register') ? { ...body, authai_public_key: pem } : body),
    }
    const { client } = await clientOf(service(), { fetch: through(relay) })
    await client.save('mine', [{ key: 'a', value: 'secret' }])
    assert.equal(heard.length, 3)
    for (const envelope of heard) assert.equal(await openEnvelope(own.privateKey, envelope), undefined)
  })

  test("that replaces the challenge in a registration response cannot own the client's data", async () => {
    const own = await keyFor(service())
    const stored: unknown[] = []
    const { key, ...relayed } = await clientOf(service(), {
      fetch: through({
        request: (path, body) => {
          if (path.endsWith('/save')) stored.push(body)
          return body
        },
        // The relay passes on its own client's challenges as if they were for this one.
        answer: async (path, body) => {
          const registered = { client_public_key: await publicPem(own.publicKey) }
          const mine = path.endsWith('/register')
            ? (await service().call('POST', '/v1/authai/register', { body: registered })).body
            : body
          const challenge = await openEnvelope(own.privateKey, mine.challenge_for_client)
          return challenge ? { ...mine, challenge_for_client: await seal(key.publicKey, challenge, 'anything') } : mine
        },
      }),
    })
    await assert.rejects(relayed.client.save('mine', [{ key: 'a', value: 'secret' }]), withCode('unexpected_answer'))
    assert.deepEqual(stored, [], 'nothing was told before it was clear to whom')
  })

  test('that forges a result is detected, whatever the proof', async () => {
    const { client, key, relay, goesOnAsBefore } = await startRelayed()
    const proofs = [(body: any) => body.result_proof, () => undefined, () => '', () => 'A'.repeat(43), () => 7]
    for (const proofOf of proofs) {
      relay.answer = async (path, body) => {
        if (!path.endsWith('/read')) return body
        const result_envelope = await seal(key.publicKey, emptyResult, 'anything')
        return { ...body, result_envelope, result_proof: proofOf(body) }
      }
      await assert.rejects(client.read('mine', ['a']), withCode('result_not_authentic'))
    }
    await goesOnAsBefore()
  })

  test('that replays an earlier result is detected', async () => {
    const { client, relay, goesOnAsBefore } = await startRelayed()
    let earlier: object | undefined
    relay.answer = (path, body) => {
      if (!path.endsWith('/read')) return body
      const { result_envelope, result_proof } = body
      earlier ??= { result_envelope, result_proof }
      return { ...body, ...earlier }
    }
    assert.deepEqual(valuesOf(await client.read('mine', ['a'])), { a: 'true' })
    await assert.rejects(client.read('mine', ['a']), withCode('result_not_authentic'))
    await goesOnAsBefore()
  })

  test('that makes its own challenge knows the nonce but not the request id, and cannot forge a proof', async () => {
    const { client, key, relay, goesOnAsBefore } = await startRelayed()
    const nonce = new Uint8Array(32).fill(7)
    const client_uuid = await client.register()
    const made = challengeOf(client_uuid, nonce)
    const { expires_at } = made
    const challenge_for_client = await seal(key.publicKey, made, 'anything')
    relay.answer = async (path) => {
      const answer = { client_uuid, challenge_id: nobody, challenge_for_client, expires_at }
      if (!path.endsWith('/read')) return answer
      const result_envelope = await seal(key.publicKey, emptyResult, 'anything')
      return { ...answer, result_envelope, result_proof: await resultProof(nonce, nobody, result_envelope) }
    }
    await client.refresh()
    await assert.rejects(client.read('mine', ['a']), withCode('result_not_authentic'))
    await goesOnAsBefore()
  })

  test('that withholds a rotation and forges its response does not lock the client out', async () => {
    const { client, key, relay, goesOnAsBefore } = await startRelayed()
    const client_uuid = await client.register()
    const newKey = await keyFor(service())
    const nonce = new Uint8Array(32).fill(7)
    const forged = async () => {
      const challenge = challengeOf(client_uuid, nonce)
      const challenge_for_client = await seal(newKey.publicKey, challenge, 'anything')
      const result_envelope = await seal(newKey.publicKey, emptyResult, 'anything')
      return {
        ...{ client_uuid, challenge_id: nobody, challenge_for_client, expires_at: challenge.expires_at },
        ...{ client_key_id: null, public_key_fingerprint: await fingerprintOf(newKey.publicKey), result_envelope },
        result_proof: await resultProof(nonce, nobody, result_envelope),
      }
    }
    relay.request = (path, body) => (path.endsWith('/rotate-key') ? {} : body)
    relay.answer = (path, body) => (/rotate-key|read/.test(path) ? forged() : body)
    await assert.rejects(client.rotate(newKey), withCode('result_not_authentic'))
    await goesOnAsBefore()
    const { client: again } = await clientOf(service(), { key })
    assert.equal(await again.register(), client_uuid, 'the old key is still the one')
    await client.rotate(newKey)
    await goesOnAsBefore()
  })

  test('that swaps an envelope, recipient or new key is refused, and nothing changes', async () => {
    const own = await publicPem((await keyFor(service())).publicKey)
    const heard: any = {}
    const listening: Relay = {
      request: (_path, body) => {
        Object.assign(heard, body)
        return body
      },
    }
    const { client: other } = await clientOf(service(), { fetch: through(listening) })
    await other.save('mine', [{ key: 'a', value: "another's" }])
    await other.read('mine', ['b'])

    const { client, relay, goesOnAsBefore } = await startRelayed()
    const { data_envelope, query_envelope } = heard
    const save = () => client.save('mine', [{ key: 'a', value: 'new' }])
    const read = () => client.read('mine', ['a'])
    const rotate = async () => {
      await client.rotate(await keyFor(service()))
    }
    const swaps: [string, (body: any) => object, () => Promise<unknown>][] = [
      ["another's data", (body) => ({ ...body, data_envelope }), save],
      ["another's query", (body) => ({ ...body, query_envelope }), read],
      ['a recipient', (body) => ({ ...body, recipient_public_key: own }), read],
      ['no recipient', ({ auth_envelope, query_envelope: mine }) => ({ auth_envelope, query_envelope: mine }), read],
      ['a new key', (body) => ({ ...body, new_client_public_key: own }), rotate],
      ['no aad', (body) => ({ ...body, auth_envelope: { ...body.auth_envelope, aad: undefined } }), save],
    ]
    for (const [name, swap, work] of swaps) {
      relay.request = (path, body) => (path.endsWith('/register') ? body : swap(body))
      await assert.rejects(work(), withCode('invalid_auth_envelope', 'payload_invalid'), name)
      await goesOnAsBefore()
    }
  })
})
