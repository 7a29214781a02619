import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'generativelanguage.googleapis.com'

export const gemini: Preset = {
  id: 'gemini',
  name: 'Gemini',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key in Google AI Studio under "Get API key". Restrict it to the Generative Language API.',
      inject: [{ in: 'header', name: 'x-goog-api-key', template: '{api_key}' }],
      check: { url: 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1' },
      env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    // Short-lived tokens for browsers.
    { host, path: '/*/auth_tokens' },
    // Several calls in one.
    { host, path: '/batch' },
    { host, path: '/**/credentials' },
    { host, path: '/*/webhooks', methods: writes },
    { host, path: '/**/permissions', methods: writes },
    { host, path: '/*/tunedModels/*:transferOwnership' },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /*/models/*:countTokens
        POST /*/corpora/*:query`,
    ),
    destructive: callsAt(host, 'POST /*/corpora/*/documents/*/chunks:batchDelete'),
  },
  bodyChecks: [],
  docs: [
    'https://ai.google.dev/gemini-api/docs/api-key',
    'https://ai.google.dev/api',
    'https://ai.google.dev/gemini-api/docs/ephemeral-tokens',
    'https://ai.google.dev/api/rest/v1beta/corpora.documents.chunks/batchDelete',
    'https://ai.google.dev/gemini-api/docs/tokens',
    'https://ai.google.dev/api/semantic-retrieval/corpora',
    'https://ai.google.dev/api/rest/v1beta/tunedModels/transferOwnership',
  ],
}
