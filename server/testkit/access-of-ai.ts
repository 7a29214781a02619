import type { AccessRows } from './access-rows.ts'

const aiApi = (host: string, models: string, complete: string, deleted?: string): AccessRows => ({
  read: `GET https://${host}${models}`,
  write: `POST https://${host}${complete} {"model":"m","prompt":"delete everything"}`,
  ...(deleted !== undefined && { destructive: `DELETE https://${host}${deleted}` }),
})

export const forAi: Record<string, AccessRows> = {
  anthropic: {
    read: `
      GET https://api.anthropic.com/v1/models
      POST /v1/messages/count_tokens {"model":"m","messages":[]}`,
    write: `
      POST https://api.anthropic.com/v1/messages {"model":"m","messages":[]}
      POST /v1/messages/batches {"requests":[]}`,
    destructive: `
      DELETE https://api.anthropic.com/v1/files/file_1
      POST /v1/agents/agent_1/archive
      POST /v1/sessions/sesn_1/archive
      POST /v1/memory_stores/memstore_1/archive
      POST /v1/memory_stores/memstore_1/memory_versions/memver_1/redact
      POST /v1/organizations/workspaces/wrkspc_1/archive`,
  },
  'brave-search': {
    read: 'GET https://api.search.brave.com/res/v1/web/search?q=a',
    write: 'POST https://api.search.brave.com/res/v1/chat/completions {"messages":[]}',
  },
  cohere: {
    read: `
      GET https://api.cohere.com/v1/models
      POST /v1/tokenize {"text":"a"}`,
    write: 'POST https://api.cohere.com/v2/chat {"messages":[]}',
    destructive: 'DELETE https://api.cohere.com/v1/datasets/1',
  },
  deepl: {
    read: `
      GET https://api.deepl.com/v2/usage
      POST /v2/document/1 {"document_key":"k"}`,
    write: `
      POST https://api.deepl.com/v2/translate {"text":["a"]}
      POST /v2/document/1/result {"document_key":"k"}
      GET /v2/document/1/result?document_key=k
      POST https://api-free.deepl.com/v2/document {}`,
    destructive: 'DELETE https://api.deepl.com/v3/glossaries/1',
  },
  elevenlabs: aiApi('api.elevenlabs.io', '/v1/voices', '/v1/text-to-speech/v', '/v1/voices/v'),
  gemini: {
    read: `
      GET https://generativelanguage.googleapis.com/v1beta/models
      POST /v1beta/models/gemini-pro:countTokens {"contents":[]}`,
    write: `
      POST https://generativelanguage.googleapis.com/v1beta/models/gemini-pro:generateContent {"contents":[]}
      POST /v1beta/models/gemini-pro:batchEmbedContents {}`,
    destructive: `
      DELETE https://generativelanguage.googleapis.com/v1beta/files/1
      POST /v1beta/corpora/c/documents/d/chunks:batchDelete {"requests":[]}`,
  },
  groq: aiApi('api.groq.com', '/openai/v1/models', '/openai/v1/chat/completions', '/openai/v1/files/1'),
  huggingface: {
    read: `
      GET https://huggingface.co/api/models/o/m
      POST /api/models/o/m/paths-info/main {"paths":["a"]}
      POST /api/datasets/o/d/paths-info/main {"paths":["a"]}
      POST /datasets/o/d.git/git-upload-pack 0032want @content-type: application/x-git-upload-pack-request`,
    write: `
      POST https://huggingface.co/api/models/o/m/commit/main {}
      POST /api/models/o/paths-info/discussions {"title":"a"}
      POST /api/collections/o/c/paths-info/main {}
      POST /api/models/o/m/branch/git-upload-pack @content-type: application/x-git-upload-pack-request
      POST https://router.huggingface.co/v1/chat/completions {"messages":[]}`,
    destructive: `
      DELETE https://huggingface.co/api/repos/delete {"name":"m"}
      POST /api/models/o/m/super-squash/main {}
      POST /api/buckets/o/b/batch {"type":"deleteFile","path":"a"} @content-type: application/x-ndjson`,
  },
  mistral: aiApi('api.mistral.ai', '/v1/models', '/v1/chat/completions', '/v1/files/1'),
  openai: {
    read: `
      GET https://api.openai.com/v1/models
      POST /v1/vector_stores/vs/search {"query":"a"}`,
    write: `
      POST https://api.openai.com/v1/responses {"input":"a"}
      POST /v1/chat/completions {"messages":[]}`,
    destructive: `
      DELETE https://api.openai.com/v1/files/f
      POST /v1/organization/projects/p/archive`,
  },
  openrouter: aiApi('openrouter.ai', '/api/v1/models', '/api/v1/chat/completions'),
  perplexity: {
    read: 'POST https://api.perplexity.ai/search {"query":"a"}',
    write: 'POST https://api.perplexity.ai/chat/completions {"messages":[]}',
  },
  replicate: {
    read: `
      GET https://api.replicate.com/v1/models
      QUERY /v1/models a @content-type: text/plain`,
    write: `
      POST https://api.replicate.com/v1/predictions {"version":"v"}
      POST /v1/predictions/1/cancel`,
    destructive: 'DELETE https://api.replicate.com/v1/models/o/m',
  },
  tavily: {
    read: `
      POST https://api.tavily.com/search {"query":"a"}
      POST /extract {"urls":[]}`,
    write: 'POST https://api.tavily.com/crawl {"url":"https://example.com"}',
  },
}
