import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseUrlsOf, mcpConfig, runCommand } from './tool-settings.ts'

test('a tool gets the grant and its hosts, and no credential', () => {
  const grant = { grant_id: 'grt_1', allowed_hosts: ['api.acme.example', '*.acme.example', 'acme.example:8443'] }
  assert.equal(runCommand(grant), 'sallyport run --grant grt_1 -- command')
  assert.deepEqual(baseUrlsOf(grant, 'https://sallyport.example'), [
    'https://sallyport.example/v4/proxy/grt_1/api.acme.example',
    'https://sallyport.example/v4/proxy/grt_1/acme.example:8443',
  ])
  assert.deepEqual(JSON.parse(mcpConfig()), { mcpServers: { sallyport: { command: 'sallyport', args: ['mcp'] } } })
  assert.deepEqual(JSON.parse(mcpConfig('cursor')).mcpServers.sallyport.args, ['mcp', '--profile', 'cursor'])
})
