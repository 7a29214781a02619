import { asana } from './asana.ts'
import { atlassian } from './atlassian.ts'
import { discord } from './discord.ts'
import { dropbox } from './dropbox.ts'
import { figma } from './figma.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { google } from './google.ts'
import { hubspot } from './hubspot.ts'
import { linear } from './linear.ts'
import { microsoft } from './microsoft.ts'
import { notion } from './notion.ts'
import type { Preset } from './preset.ts'
import { salesforce } from './salesforce.ts'
import { slack } from './slack.ts'
import { spotify } from './spotify.ts'
import { zoom } from './zoom.ts'

export const presets: readonly Preset[] = [
  asana,
  atlassian,
  discord,
  dropbox,
  figma,
  github,
  gitlab,
  google,
  hubspot,
  linear,
  microsoft,
  notion,
  salesforce,
  slack,
  spotify,
  zoom,
]

export function findPreset(id: string): Preset | undefined {
  return presets.find((preset) => preset.id === id)
}
