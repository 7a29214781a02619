import { airtable } from './airtable.ts'
import { anthropic } from './anthropic.ts'
import { asana } from './asana.ts'
import { atlassian } from './atlassian.ts'
import { bitbucket } from './bitbucket.ts'
import { cloudflare } from './cloudflare.ts'
import { datadog } from './datadog.ts'
import { digitalocean } from './digitalocean.ts'
import { discord } from './discord.ts'
import { dropbox } from './dropbox.ts'
import { figma } from './figma.ts'
import { gemini } from './gemini.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { google } from './google.ts'
import { hetzner } from './hetzner.ts'
import { hubspot } from './hubspot.ts'
import { linear } from './linear.ts'
import { microsoft } from './microsoft.ts'
import { mistral } from './mistral.ts'
import { netlify } from './netlify.ts'
import { notion } from './notion.ts'
import { npmRegistry } from './npm-registry.ts'
import { openai } from './openai.ts'
import { pagerduty } from './pagerduty.ts'
import type { Preset } from './preset.ts'
import { salesforce } from './salesforce.ts'
import { sendgrid } from './sendgrid.ts'
import { slack } from './slack.ts'
import { spotify } from './spotify.ts'
import { stripe } from './stripe.ts'
import { telegram } from './telegram.ts'
import { twilio } from './twilio.ts'
import { vercel } from './vercel.ts'
import { zoom } from './zoom.ts'

export const presets: readonly Preset[] = [
  airtable,
  anthropic,
  asana,
  atlassian,
  bitbucket,
  cloudflare,
  datadog,
  digitalocean,
  discord,
  dropbox,
  figma,
  gemini,
  github,
  gitlab,
  google,
  hetzner,
  hubspot,
  linear,
  microsoft,
  mistral,
  netlify,
  notion,
  npmRegistry,
  openai,
  pagerduty,
  salesforce,
  sendgrid,
  slack,
  spotify,
  stripe,
  telegram,
  twilio,
  vercel,
  zoom,
]

export function findPreset(id: string): Preset | undefined {
  return presets.find((preset) => preset.id === id)
}
