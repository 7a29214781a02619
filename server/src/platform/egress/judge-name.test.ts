import assert from 'node:assert/strict'
import { test } from 'node:test'
import { userAgent } from '../../../testkit/egress.ts'
import { createEgress } from './egress.ts'
import type { Lookup } from './egress.ts'

const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14'],
  'inside.example': ['10.0.0.7'],
  'both.example': ['93.184.215.14', '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'listed.example': ['10.0.0.8'],
}
const lookup: Lookup = async (name) => {
  const addresses = names[name]
  if (!addresses) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return addresses.map((address) => ({ address }))
}

test('a name is checked by all its addresses, and the error names the member', async (t) => {
  const egress = createEgress({ allow: [{ kind: 'place', host: 'listed.example', port: 443 }], userAgent, lookup })
  t.after(() => egress.close())
  const judge = (host: string) => egress.judgeName(new URL(`https://${host}/`), 'stranger', 'token_url')
  for (const host of ['public.example', 'listed.example', 'nowhere.example']) await judge(host)
  for (const host of ['inside.example', 'both.example', 'metadata.example']) {
    await assert.rejects(judge(host), { code: 'address_not_allowed', field: 'token_url' }, host)
  }
})
