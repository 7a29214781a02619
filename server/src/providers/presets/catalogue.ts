import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { Preset } from './preset.ts'

export const presets: readonly Preset[] = [github, gitlab]

export function findPreset(id: string): Preset | undefined {
  return presets.find((preset) => preset.id === id)
}
