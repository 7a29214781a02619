import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { postgresOptions } from './postgres.ts'
import { nameOfHost, urlsOfHosts } from './postgres-urls.ts'

/** What pg makes of our options: whom it would call, and how. */
function effective(url: string, isInsecure = false): { host: string; ssl: any } {
  const { connectionParameters } = new pg.Client(postgresOptions(url, isInsecure)) as unknown as {
    connectionParameters: { host: string; ssl: unknown }
  }
  const { host, ssl } = connectionParameters
  return { host, ssl }
}

const verified = { rejectUnauthorized: true }

test('another machine needs a verifiable certificate, whatever the URL says', () => {
  const weaker = ['', 'sslmode=disable', 'sslmode=allow', 'sslmode=prefer', 'sslmode=require', 'sslmode=no-verify']
  const tricks = ['ssl=false', 'ssl=0', 'ssl=no-verify', 'sslmode=require&uselibpqcompat=true', 'sslmode=verify-ca']
  const doubled = [
    'sslmode=verify-full&sslmode=disable',
    'ssl=true&ssl=0',
    'sslnegotiation=direct',
    'rejectUnauthorized=0',
  ]
  for (const query of [
    ...weaker,
    ...tricks,
    ...doubled,
    'sslmode=verify-full',
    'ssl=no-verify&sslnegotiation=direct',
  ]) {
    for (const host of ['db.example.com', '192.0.2.1', '[2001:db8::1]', '127.evil.example', 'localhost.example']) {
      const { ssl } = effective(`postgres://me:word@${host}:5432/sallyport?${query}`)
      assert.deepEqual(ssl, verified, `${host}?${query}`)
    }
  }
})

test('the checked host is the host that is connected to', () => {
  const remote = 'db.example.com'
  const urls = [
    `postgres://localhost/sallyport?host=${remote}`,
    `postgres:///sallyport?host=${remote}`,
    `postgres://localhost/sallyport?host=localhost&host=${remote}`,
    `postgres://${remote}/sallyport?host=`,
    `postgres://${remote}/sallyport?host=localhost&host=`,
  ]
  for (const url of urls) assert.deepEqual(effective(url), { host: remote, ssl: verified }, url)
  const nearby = effective(`postgres://${remote}/sallyport?host=${remote}&host=localhost`)
  assert.deepEqual(nearby, { host: 'localhost', ssl: false })
})

test('environment variables affect neither the host nor TLS', (t) => {
  const names = { PGHOST: 'db.example.com', PGSSLMODE: 'no-verify' }
  const before = Object.keys(names).map((name) => [name, process.env[name]] as const)
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  })
  Object.assign(process.env, names)
  assert.deepEqual(effective('postgres:///sallyport'), { host: 'localhost', ssl: false })
  assert.deepEqual(effective('postgres://db.example.org/sallyport'), { host: 'db.example.org', ssl: verified })
})

test('loopback and Unix sockets need no TLS', () => {
  const local = ['localhost', '127.0.0.1', '127.8.8.8', '[::1]', '%2Fvar%2Frun%2Fpostgresql']
  for (const host of local) assert.equal(effective(`postgres://me@${host}/sallyport`).ssl, false, host)
  const socket = effective('postgres:///sallyport?host=/var/run/postgresql')
  assert.deepEqual(socket, { host: '/var/run/postgresql', ssl: false })
  assert.equal(effective('postgres://me@%2Fvar%2Frun/sallyport').host, '/var/run')
})

test('with TLS on loopback the certificate is verified too', () => {
  for (const mode of ['require', 'verify-ca', 'verify-full', 'no-verify']) {
    assert.deepEqual(effective(`postgres://localhost/sallyport?sslmode=${mode}`).ssl, verified, mode)
  }
  for (const mode of ['', 'disable', 'allow', 'prefer']) {
    assert.equal(effective(`postgres://localhost/sallyport?sslmode=${mode}`).ssl, false, mode)
  }
})

test("the operator's own CA and client certificate are used", (t) => {
  const folder = temporaryFolder(t)
  const file = (name: string) => {
    writeFileSync(join(folder, name), `PEM of ${name}`)
    return encodeURIComponent(join(folder, name))
  }
  const authority = `sslrootcert=${file('ca')}`
  const client = `sslcert=${file('cert')}&sslkey=${file('key')}`
  const { ssl } = effective(`postgres://db.example.com/sallyport?${authority}&sslmode=require`)
  assert.deepEqual(ssl, { ...verified, ca: 'PEM of ca' })
  const both = effective(`postgres://db.example.com/sallyport?${client}&${authority}`).ssl
  assert.deepEqual({ ...both, key: both.key }, { ...verified, ca: 'PEM of ca', cert: 'PEM of cert', key: 'PEM of key' })
})

test('only the insecure setting turns verification off', () => {
  const url = 'postgres://db.example.com/sallyport'
  assert.equal(effective(url, true).ssl, false)
  assert.equal(effective(`${url}?sslmode=disable`, true).ssl, false)
  assert.deepEqual(effective(`${url}?sslmode=require`, true).ssl, { rejectUnauthorized: false })
})

test('the rest of the URL is passed on unchanged', () => {
  const { connectionString } = postgresOptions(
    'postgres://me:p%40ss@db.example.com:5433/sallyport?options=-csome',
    false,
  )
  assert.equal(connectionString, 'postgres://me:p%40ss@db.example.com:5433/sallyport?options=-csome')
})

test('several hosts become one URL each, with the same credentials', () => {
  const read = (text: string) => urlsOfHosts(text).map(({ href }) => href)
  assert.deepEqual(read('postgres://me:p%40s%2Cs@one:5433,two/sallyport?sslmode=require'), [
    'postgres://me:p%40s%2Cs@one:5433/sallyport?sslmode=require',
    'postgres://me:p%40s%2Cs@two/sallyport?sslmode=require',
  ])
  assert.deepEqual(read('postgres://[2001:db8::1]:5433,[::1]/sallyport'), [
    'postgres://[2001:db8::1]:5433/sallyport',
    'postgres://[::1]/sallyport',
  ])
  assert.deepEqual(read('postgres:///sallyport'), ['postgres:///sallyport'])
  assert.deepEqual(urlsOfHosts('postgres://me:word@one:5433,two/sallyport').map(nameOfHost), ['one:5433', 'two:5432'])
  for (const wrong of ['postgres://one,/x', 'postgres://,one/x', 'postgres://one,two:port/x', 'one,two']) {
    assert.throws(() => urlsOfHosts(wrong), TypeError, wrong)
  }
})

test('each of several hosts on other machines needs a verifiable certificate', () => {
  const [here, there] = urlsOfHosts('postgres://localhost,db.example.com/sallyport?sslmode=disable')
  assert.equal(effective(here?.href ?? '').ssl, false)
  assert.deepEqual(effective(there?.href ?? '').ssl, verified)
})
