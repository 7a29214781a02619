/**
 * What stands in the variables that a provider's tools read their credential from: a placeholder, in the shape that they
 * insist on. The gateway puts the credential in its place.
 */
import type { Grant } from '@sallyport/sdk'

export interface GrantedProvider {
  slug: string
  /** The variables that its tools read. */
  env: readonly string[]
  grants: readonly Grant[]
  /** By --provider or --request. */
  isNamed: boolean
}

/** Programs that find one of these pay with it: an agent would leave its own subscription. */
const whoPays = new Set([
  ...['ANTHROPIC_API_KEY', 'CO_API_KEY', 'COHERE_API_KEY', 'ELEVENLABS_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  ...['GROQ_API_KEY', 'HF_TOKEN', 'MISTRAL_API_KEY', 'OPENAI_API_KEY', 'OPENROUTER_API_KEY', 'PERPLEXITY_API_KEY'],
  'REPLICATE_API_TOKEN',
])

/** Tools that refuse a credential of another shape, or warn about it. */
const shapes: Record<string, (placeholder: string) => string> = {
  STRIPE_API_KEY: (placeholder) => `sk_test_${placeholder}`,
  SENDGRID_API_KEY: (placeholder) => `SG.${placeholder}`,
  SLACK_BOT_TOKEN: (placeholder) => `xoxb-${placeholder}`,
  // Terraform wants 64 characters.
  HCLOUD_TOKEN: (placeholder) => placeholder.padStart(64, '_'),
}

/** They would lead tools of AWS to other credentials than those in the variables. */
const besideAws = ['AWS_SESSION_TOKEN', 'AWS_PROFILE', 'AWS_DEFAULT_PROFILE']

/** Names the grant. Of several at one provider the service chooses the one that covers a request. */
export function placeholderFor(grants: readonly Grant[]): string {
  const [only, another] = grants
  return only && !another ? `sp_grant_${only.grant_id}` : 'sp_grant_any'
}

/** The variables to set; those with undefined are taken away. */
export function placeholdersFor(providers: readonly GrantedProvider[]): Record<string, string | undefined> {
  const variables: Record<string, string | undefined> = {}
  for (const { env, grants, isNamed } of providers) {
    const placeholder = placeholderFor(grants)
    for (const name of env) {
      if (!isNamed && whoPays.has(name)) continue
      variables[name] = (shapes[name] ?? String)(placeholder)
    }
    if (env.includes('AWS_ACCESS_KEY_ID')) for (const name of besideAws) variables[name] = undefined
  }
  return variables
}
