import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unreachableFromPhone } from './reachable.ts'

test('an address of this machine, or one without https, is of no use to a phone', () => {
  const local = [
    'http://localhost:8787',
    'https://localhost',
    'http://app.localhost',
    'http://127.0.0.1',
    'http://[::1]:1',
  ]
  for (const address of local)
    assert.equal(unreachableFromPhone(`${address}/authenticator#pairing_code=A`), 'this-machine')
  assert.equal(unreachableFromPhone('http://192.168.1.20:8787/authenticator'), 'insecure')
  const remote = [
    'https://192.168.1.20',
    'https://sallyport.example.com/authenticator',
    'https://localhost.example.com',
  ]
  for (const address of remote) assert.equal(unreachableFromPhone(address), undefined)
})
