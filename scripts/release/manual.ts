/** The man pages, from the same descriptions as the commands' own help. */
import { commandHelp, overview } from '../../cli/src/help.ts'
import { commands } from '../../cli/src/commands.ts'
import { secretSettings, settings } from '../../server/src/config/config.ts'
import type { Setting } from '../../server/src/platform/config/settings.ts'

const plain = (_style: string, text: string) => text

/** `help` is what `sallyport-server --help` prints. */
export function serverManual(version: string, help: string): string {
  const rows = [...Object.entries<Setting<unknown>>(settings), ...Object.entries(secretSettings)]
  return page('sallyport-server', 8, version, 'keeps credentials for people, and makes approved calls for agents', [
    ['SYNOPSIS', ['.B sallyport-server', '[command]']],
    ['COMMANDS', literal(help.replace('Usage:\n', ''))],
    [
      'ENVIRONMENT',
      rows.flatMap(([name, { fallback, meaning }]) => [
        '.TP',
        `.B ${escaped(name)}`,
        escaped(meaning.includes('(default:') ? meaning : `${meaning} (default: ${fallback ?? 'none'})`),
      ]),
    ],
    ['SEE ALSO', ['.BR sallyport (1)']],
  ])
}

export function cliManual(version: string): string {
  return page('sallyport', 1, version, 'the command line of Sallyport for agents and people', [
    ['DESCRIPTION', literal(overview(commands, plain))],
    ...commands.map((one): Section => [one.name, literal(commandHelp(one, commands, plain))]),
    ['SEE ALSO', ['.BR sallyport-server (8)']],
  ])
}

type Section = [title: string, lines: string[]]

function page(name: string, chapter: number, version: string, what: string, sections: Section[]): string {
  const lines = [
    `.TH ${name.toUpperCase()} ${chapter} "" "Sallyport ${version}"`,
    '.SH NAME',
    escaped(`${name} - ${what}`),
    ...sections.flatMap(([title, own]) => [`.SH ${title.toUpperCase()}`, ...own]),
  ]
  return `${lines.join('\n')}\n`
}

function literal(text: string): string[] {
  return ['.nf', ...text.trimEnd().split('\n').map(escaped), '.fi']
}

/** A backslash, a leading dot and a leading quote have a meaning in roff, and a bare hyphen becomes another character. */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
}
