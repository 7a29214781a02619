import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextCall } from 'node:timers/promises'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { boxContent, sealedBoxes } from '../../../testkit/sealed-boxes.ts'
import type { SealedBoxes } from '../../../testkit/sealed-boxes.ts'
import { Secret } from '../secret.ts'
import { newMasterKey } from './master-keys.ts'
import { RotationRefused, rotateKeys } from './rotate.ts'
import type { MasterKeySource } from './rotate.ts'
import { WrongMasterKey } from './vault.ts'

interface Rotation {
  source?: MasterKeySource
  onProgress?: (line: string) => void
}

async function rotate(boxes: SealedBoxes, { source = boxes.source, onProgress = () => undefined }: Rotation = {}) {
  const vault = await boxes.openVault(source.read)
  const [database, clock] = [boxes.open(), fixedClock().now]
  return rotateKeys({ database, vault, source, sealedColumns: [boxContent], newMasterKey, clock, onProgress })
}

async function fill(boxes: SealedBoxes, count: number): Promise<Record<string, string>> {
  const vault = await boxes.openVault()
  const contents = Object.fromEntries(Array.from({ length: count }, (_, index) => [`box ${index}`, `token ${index}`]))
  for (const [box, text] of Object.entries(contents)) await boxes.put(vault, box, text)
  return contents
}

const idsIn = ({ source }: SealedBoxes) => source.read().map(({ id }) => id)

const dataKeys = (boxes: SealedBoxes) =>
  boxes.open().queries.selectFrom('vault_keys').select(['key_id', 'active', 'master_key_id']).execute()

/** One data key, encrypted with a master key that is not one of these, and no other key in the file. */
async function assertFinished(boxes: SealedBoxes, retired: readonly string[]): Promise<void> {
  const keys = await dataKeys(boxes)
  assert.equal(keys.length, 1)
  assert.deepEqual(idsIn(boxes), [keys[0]?.master_key_id])
  for (const id of retired) assert.ok(!idsIn(boxes).includes(id), 'a retired master key is in use')
}

onBothDatabases('a key rotation', (engine) => {
  test('re-encrypts every value, so that the old master key decrypts nothing', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 250)
    const [before] = await dataKeys(boxes)
    const old = boxes.source.read()
    const lines: string[] = []
    const { resealed } = await rotate(boxes, { onProgress: (line) => lines.push(line) })
    assert.equal(resealed, 250)
    assert.deepEqual([lines[0], lines.at(-1)], ['A new data key is now in use.', 'Re-encrypted 250 values.'])
    await assertFinished(boxes, [old[0]?.id ?? ''])
    assert.ok((await dataKeys(boxes)).every(({ key_id }) => key_id !== before?.key_id))
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
    await assert.rejects(
      boxes.openVault(() => old),
      WrongMasterKey,
    )
  })

  test('of an empty database succeeds', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const old = idsIn(boxes)
    assert.deepEqual(await rotate(boxes), { resealed: 0 })
    await assertFinished(boxes, old)
  })

  test('does not disturb an instance that is running', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 3)
    const running = await boxes.openVault()
    const during: Promise<void>[] = []
    const onProgress = (line: string) => {
      during.push(
        boxes.put(running, line, 'sealed during'),
        boxes.contents(running).then(() => undefined),
      )
      contents[line] = 'sealed during'
    }
    await rotate(boxes, { onProgress })
    await Promise.all(during)
    await boxes.put(running, 'box after', 'sealed after')
    const expected = { ...contents, 'box after': 'sealed after' }
    assert.ok(during.length >= 4)
    assert.deepEqual(await boxes.contents(running), expected)
    assert.deepEqual(await boxes.contents(await boxes.openVault()), expected)
    await rotate(boxes)
    assert.deepEqual(await boxes.contents(running), expected)
  })

  test('can be killed at any step: all stays readable, and a second run finishes it', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    let contents = await fill(boxes, 120)
    const steps = async (kill: (step: string) => void) => {
      let [writes, lines] = [0, 0]
      const write: MasterKeySource['write'] = (keys) => {
        writes++
        kill(`before write ${writes}`)
        boxes.source.write(keys)
        kill(`after write ${writes}`)
      }
      const onProgress = () => {
        lines++
        kill(`after line ${lines}`)
      }
      await rotate(boxes, { source: { read: boxes.source.read, write }, onProgress })
    }
    const all: string[] = []
    await steps((step) => all.push(step))
    assert.deepEqual(all.slice(0, 3), ['before write 1', 'after write 1', 'after line 1'])
    assert.deepEqual(all.slice(-2), ['before write 2', 'after write 2'])
    for (const last of all) {
      const retired = idsIn(boxes)
      const killed = steps((step) => {
        if (step === last) throw new Error('killed')
      })
      await assert.rejects(killed, /killed/, last)
      const restarted = await boxes.openVault()
      assert.deepEqual(await boxes.contents(restarted), contents, last)
      await boxes.put(restarted, last, 'sealed in between')
      contents = { ...contents, [last]: 'sealed in between' }
      await rotate(boxes)
      await assertFinished(boxes, retired)
      assert.deepEqual(await boxes.contents(await boxes.openVault()), contents, last)
    }
  })

  test('stops at a value that does not decrypt and keeps the old key', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 5)
    const old = idsIn(boxes)
    const { queries } = boxes.open()
    const rename = (from: string, to: string) =>
      sql`update boxes set owner_id = ${to} where owner_id = ${from}`.execute(queries)
    await rename('owner of box 3', 'a thief')
    await assert.rejects(rotate(boxes), { name: 'RotationRefused', message: /box 3/ })
    assert.ok(idsIn(boxes).includes(old[0] ?? ''))
    await rename('a thief', 'owner of box 3')
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
    const lines: string[] = []
    await rotate(boxes, { onProgress: (line) => lines.push(line) })
    assert.equal(lines[0], 'Continuing an unfinished rotation.')
    await assertFinished(boxes, old)
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
  })

  test('can run concurrently with another one', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 150)
    const old = idsIn(boxes)
    await Promise.all([rotate(boxes), rotate(boxes), rotate(boxes)])
    await assertFinished(boxes, old)
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
  })

  test('does not reuse a master key listed after the current one', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    await fill(boxes, 1)
    boxes.source.write([...boxes.source.read(), newMasterKey()])
    const retired = idsIn(boxes)
    await rotate(boxes)
    await assertFinished(boxes, retired)
  })

  test('loses no value that is stored while it runs', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 30)
    const writers = await Promise.all([boxes.openVault(), boxes.openVault(), boxes.openVault()])
    let isRotating = true
    const database = boxes.open()
    const writing = writers.map(async (vault, writer) => {
      for (let round = 0; isRotating || round < 5; round++) {
        // The writers use different boxes, all of which the rotation re-encrypts.
        const box = `box ${(round % 10) * 3 + writer}`
        const text = `round ${round} of writer ${writer}`
        await boxes.put(vault, box, text, database)
        contents[box] = text
        await nextCall()
      }
    })
    for (let count = 0; count < 4; count++) await rotate(boxes)
    isRotating = false
    await Promise.all(writing)
    assert.ok(Object.values(contents).some((text) => text.startsWith('round ')))
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
    await rotate(boxes)
    assert.deepEqual(await boxes.contents(await boxes.openVault()), contents)
  })

  test('with read-only keys is refused until the operator puts a new key first', async (t) => {
    const boxes = await sealedBoxes(t, engine)
    const contents = await fill(boxes, 3)
    const [old] = boxes.source.read()
    assert.ok(old)
    const given = (...keys: (typeof old)[]) => ({ source: { read: () => keys, write: undefined } })
    const advice = (error: unknown) => error instanceof RotationRefused && /before the old one/.test(error.message)
    await assert.rejects(rotate(boxes, given(old)), advice)
    const fresh = newMasterKey()
    await assert.rejects(rotate(boxes, given(old, fresh)), advice, 'behind is not in front')
    assert.deepEqual(
      (await dataKeys(boxes)).map(({ master_key_id }) => master_key_id),
      [old.id],
    )
    assert.deepEqual(await rotate(boxes, given(fresh, old)), { resealed: 3 })
    assert.deepEqual(await boxes.contents(await boxes.openVault(() => [fresh])), contents)
    await assert.rejects(rotate(boxes, given(fresh, old)), advice, 'a second run does not go back to the old key')
    assert.deepEqual(await boxes.contents(await boxes.openVault(() => [fresh])), contents)
  })
})

test('a rotation waits for transactions that have encrypted a value but not committed', async (t) => {
  const boxes = await sealedBoxes(t, 'postgres')
  const [vault, database, { queries: observer }] = [await boxes.openVault(), boxes.open(), boxes.open()]
  const isWaiting = async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(observer)
    return rows.length > 0
  }
  let hasEnded = false
  let rotation: Promise<unknown> | undefined
  await database.transaction(async (tx) => {
    const [row, owner] = ['box 1', 'ada']
    const { bytes, keyId } = await vault.seal(tx, boxContent, { row, owner }, new Secret('sealed before'))
    rotation = rotate(boxes).finally(() => {
      hasEnded = true
    })
    while (!hasEnded && !(await isWaiting())) await nextCall()
    await sql`insert into boxes values (${row}, ${owner}, ${bytes}, ${keyId})`.execute(tx)
  })
  assert.deepEqual(await rotation, { resealed: 1 })
  assert.deepEqual(await boxes.contents(await boxes.openVault()), { 'box 1': 'sealed before' })
})
