import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sql } from 'kysely'
import { Secret } from '../secret.ts'
import { openPostgres } from './postgres.ts'

/** PostgreSQL, "Message Formats": what a client sends first when it wants TLS. */
const sslRequest = Buffer.from('0000000804d2162f', 'hex')

test('a man in the middle that denies TLS support learns nothing', async (t) => {
  const heard: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      heard.push(bytes)
      socket.write('N')
    })
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = new Secret(`postgres://ada:correct-horse@127.0.0.1:${port}/sallyport?sslmode=require`)
  const database = openPostgres(url, { isInsecure: false })
  t.after(() => database.close())
  await assert.rejects(sql`select 1`.execute(database.queries), /does not support SSL/)
  assert.deepEqual(Buffer.concat(heard), sslRequest)
})
