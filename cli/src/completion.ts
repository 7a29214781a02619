/** Completions for the words typed so far. The shells' scripts only call this. */
import { commonOptions } from './command.ts'
import type { Command, OptionSpecs } from './command.ts'

export const shells = ['bash', 'zsh', 'fish'] as const

/** The last word is the one being typed. */
export function candidates(commands: readonly Command[], words: string[], profiles: () => string[]): string[] {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  // The program that `sallyport run` is given.
  if (before.includes('--')) return []
  const names = before.filter((word) => !word.startsWith('-'))
  const named = (name: string) => commands.find((one) => one.name === name)
  const command = named(names.slice(0, 2).join(' ')) ?? named(names[0] ?? '') ?? named(`${names[0] ?? ''} list`)
  const specs: OptionSpecs = { ...commonOptions, ...command?.options }
  const previous = before.at(-1) ?? ''
  const spec = Object.entries(specs).find(([name, { short }]) => previous === `--${name}` || previous === `-${short}`)
  const fitting = (all: readonly string[]) => [...new Set(all)].filter((one) => one.startsWith(typed)).sort()
  if (spec && spec[1].type !== 'boolean') {
    return fitting(spec[0] === 'profile' ? profiles() : (spec[1].choices ?? []))
  }
  if (typed.startsWith('-')) return fitting(Object.keys(specs).map((name) => `--${name}`))
  const below = commands.filter(({ name }) => name.startsWith(`${names[0] ?? ''} `))
  if (names.length === 0) return fitting(commands.map(({ name }) => name.split(' ')[0] ?? ''))
  if (names.length === 1 && below.length > 0) return fitting(below.map(({ name }) => name.split(' ')[1] ?? ''))
  if (command?.name === 'completion') return fitting(shells)
  return /^profile (?:use|remove)$/.test(command?.name ?? '') ? fitting(profiles()) : []
}

export const completionScripts: Record<(typeof shells)[number], string> = {
  bash: `_sallyport() {
  local IFS=$'\\n'
  COMPREPLY=($(sallyport __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sallyport sallyport
`,
  zsh: `#compdef sallyport
_sallyport() {
  local -a found
  found=("\${(@f)$(sallyport __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _sallyport sallyport
`,
  fish: `function __sallyport_complete
  set -l words (commandline -opc) (commandline -ct)
  sallyport __complete -- $words[2..-1] 2>/dev/null
end
complete -c sallyport -a '(__sallyport_complete)'
`,
}
