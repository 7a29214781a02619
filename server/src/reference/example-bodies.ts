/** A body to copy for each operation that requires one, by `operationId`. Secrets are cut short. */
const envelope = {
  v: 'ksp1',
  alg: 'RSA-OAEP-256',
  enc: 'A256GCM',
  encrypted_key: '…',
  iv: '…',
  ciphertext: '…',
  tag: '…',
}

export const exampleBodies: Readonly<Record<string, object>> = {
  registerAgent: { name: 'Mail helper' },
  createToolKey: { grant_ids: ['grt_01k9x3v7qmf5v8t2w4y6z8abcd'], expires_in_seconds: 3600 },
  previewLoginToken: { login_token: 'sp_login_…' },
  logIn: { login_token: 'sp_login_…' },
  pairDevice: { pairing_code: 'ABCD-EFGH', device_name: 'My phone' },
  createDeviceChallenge: { action: 'off' },
  setPushToken: { push_token: '…' },
  changeDeviceApproval: { require_device_approval: true },
  createProvider: { preset: 'github', client_id: 'Iv1.0123456789abcdef', client_secret: 'your-client-secret' },
  setProviderCredentials: { client_id: 'Iv1.0123456789abcdef', client_secret: 'your-client-secret' },
  proposeProvider: { provider_name: 'Acme', issuer_url: 'https://auth.acme.example' },
  startConnect: { provider_slug: 'github' },
  startDeviceFlow: { provider_slug: 'github' },
  pollDeviceFlow: { device_flow_id: '…' },
  createConnection: { provider_slug: 'github', auth_method: 'api_key', credential: { api_key: 'github_pat_…' } },
  replaceCredential: { credential: { api_key: 'github_pat_…' } },
  requestAccess: { provider: 'github', methods: ['GET'], reason: 'Summarise open issues' },
  approveAccessRequest: { connection_id: 'con_01k9x3v7qmf5v8t2w4y6z8abcd', mode: 'ask_writes' },
  nameAgent: { name: 'The mail one' },
  proxyCall: { grant_id: 'grt_01k9x3v7qmf5v8t2w4y6z8abcd', method: 'GET', url: 'https://api.github.com/user' },
  decideCalls: {
    decisions: [
      {
        call_id: 'cal_01k9x3v7qmf5v8t2w4y6z8abcd',
        digest: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
        verdict: 'deny',
      },
    ],
  },
  registerLegacyClient: { client_public_key: '-----BEGIN PUBLIC KEY-----…' },
  refreshLegacyChallenge: { auth_envelope: envelope },
  rotateLegacyKey: { auth_envelope: envelope, new_client_public_key: '-----BEGIN PUBLIC KEY-----…' },
  saveLegacyValues: { auth_envelope: envelope, data_envelope: envelope },
  readLegacyValues: { auth_envelope: envelope, query_envelope: envelope },
}
