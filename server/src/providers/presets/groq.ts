import { bearer } from './preset.ts'
import type { Preset } from './preset.ts'

export const groq: Preset = {
  id: 'groq',
  name: 'Groq',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at console.groq.com under API Keys, in a project of its own.',
      inject: [bearer],
      check: { url: 'https://api.groq.com/openai/v1/models' },
      env: ['GROQ_API_KEY'],
    },
  ],
  apiHosts: ['api.groq.com'],
  credentialPaths: 'none',
  bodyChecks: [],
  docs: ['https://console.groq.com/docs', 'https://console.groq.com/docs/models'],
}
