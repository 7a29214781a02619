import { airtable } from './airtable.ts'
import { anthropic } from './anthropic.ts'
import { asana } from './asana.ts'
import { atlassian } from './atlassian.ts'
import { aws } from './aws.ts'
import { bitbucket } from './bitbucket.ts'
import { braveSearch } from './brave-search.ts'
import { buildkite } from './buildkite.ts'
import { circleci } from './circleci.ts'
import { clickup } from './clickup.ts'
import { cloudflare } from './cloudflare.ts'
import { cohere } from './cohere.ts'
import { datadog } from './datadog.ts'
import { deepl } from './deepl.ts'
import { digitalocean } from './digitalocean.ts'
import { discord } from './discord.ts'
import { dropbox } from './dropbox.ts'
import { elevenlabs } from './elevenlabs.ts'
import { figma } from './figma.ts'
import { gemini } from './gemini.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { google } from './google.ts'
import { googleCloud } from './google-cloud.ts'
import { grafana } from './grafana.ts'
import { groq } from './groq.ts'
import { heroku } from './heroku.ts'
import { hetzner } from './hetzner.ts'
import { hubspot } from './hubspot.ts'
import { huggingface } from './huggingface.ts'
import { intercom } from './intercom.ts'
import { jira } from './jira.ts'
import { linear } from './linear.ts'
import { mailgun } from './mailgun.ts'
import { microsoft } from './microsoft.ts'
import { mistral } from './mistral.ts'
import { netlify } from './netlify.ts'
import { notion } from './notion.ts'
import { npmRegistry } from './npm-registry.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { pagerduty } from './pagerduty.ts'
import { perplexity } from './perplexity.ts'
import { postmark } from './postmark.ts'
import type { Preset } from './preset.ts'
import { replicate } from './replicate.ts'
import { resend } from './resend.ts'
import { salesforce } from './salesforce.ts'
import { sendgrid } from './sendgrid.ts'
import { sentry } from './sentry.ts'
import { shopify } from './shopify.ts'
import { slack } from './slack.ts'
import { spotify } from './spotify.ts'
import { stripe } from './stripe.ts'
import { supabase } from './supabase.ts'
import { tavily } from './tavily.ts'
import { telegram } from './telegram.ts'
import { trello } from './trello.ts'
import { twilio } from './twilio.ts'
import { vercel } from './vercel.ts'
import { zendesk } from './zendesk.ts'
import { zoom } from './zoom.ts'

export const presets: readonly Preset[] = [
  airtable,
  anthropic,
  asana,
  atlassian,
  aws,
  bitbucket,
  braveSearch,
  buildkite,
  circleci,
  clickup,
  cloudflare,
  cohere,
  datadog,
  deepl,
  digitalocean,
  discord,
  dropbox,
  elevenlabs,
  figma,
  gemini,
  github,
  gitlab,
  google,
  googleCloud,
  grafana,
  groq,
  heroku,
  hetzner,
  hubspot,
  huggingface,
  intercom,
  jira,
  linear,
  mailgun,
  microsoft,
  mistral,
  netlify,
  notion,
  npmRegistry,
  openai,
  openrouter,
  pagerduty,
  perplexity,
  postmark,
  replicate,
  resend,
  salesforce,
  sendgrid,
  sentry,
  shopify,
  slack,
  spotify,
  stripe,
  supabase,
  tavily,
  telegram,
  trello,
  twilio,
  vercel,
  zendesk,
  zoom,
]

export function findPreset(id: string): Preset | undefined {
  return presets.find((preset) => preset.id === id)
}
