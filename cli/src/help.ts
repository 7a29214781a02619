import { commonOptions } from './command.ts'
import type { Command, OptionSpec } from './command.ts'
import type { Style } from './output.ts'

const groups = {
  agent: 'For agents',
  person: 'For people',
  operator: 'For operators',
  setup: 'Setup',
} as const

export function overview(commands: readonly Command[], style: Style): string {
  const width = Math.max(...commands.map((one) => one.name.length))
  const sections = Object.entries(groups).map(([group, title]) => {
    const lines = commands
      .filter((one) => one.group === group)
      .map(({ name, summary }) => `  ${style('cyan', name.padEnd(width))}  ${summary}`)
    return [style('bold', title), ...lines].join('\n')
  })
  return `Sallyport lets agents use a person's accounts without ever holding the person's keys.

${style('bold', 'Usage')}
  sallyport <command> [options]

${sections.join('\n\n')}

${style('bold', 'First steps')}
  sallyport register "Issue helper"   ${style('dim', '# register an agent; its token is saved in your profile')}
  sallyport sandbox                   ${style('dim', '# see how a credential is kept from it')}
  sallyport request github --reason "To read your issues"   ${style('dim', '# prints an approval link and waits')}
  sallyport call https://api.github.com/user

Run sallyport <command> --help for details. Every command accepts --json, --profile and --url.
`
}

export function commandHelp(command: Command, commands: readonly Command[], style: Style): string {
  const { name, summary, about, operands, options, examples, takesProgram } = command
  const given = takesProgram
    ? '-- <command>'
    : operands.map((one) => (one.isOptional ? `[${one.name}]` : `<${one.name}>`)).join(' ')
  const own = Object.entries(options)
  const usage = ['sallyport', name, ...(own.length > 0 ? ['[options]'] : []), given]
    .filter((word) => word !== '')
    .join(' ')
  const section = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : [`\n${style('bold', title)}`, ...lines]
  return [
    capitalised(summary) + '.',
    ...(about === undefined ? [] : ['', about]),
    ...section('Usage', [`  ${usage}`]),
    ...section('Arguments', aligned(operands.map((one) => [`<${one.name}>`, one.summary]))),
    ...section('Options', aligned(own.map(([option, spec]) => [writing(option, spec), meaning(spec)]))),
    ...section(
      'Global options',
      aligned(Object.entries(commonOptions).map(([option, spec]) => [writing(option, spec), spec.summary])),
    ),
    ...section(
      'Examples',
      examples.flatMap(([line, what]) => [`  ${style('dim', `# ${what}`)}`, `  ${line}`]),
    ),
    ...section('See also', seeAlso(name, commands)),
    '',
  ].join('\n')
}

/** The other commands of its group. */
function seeAlso(name: string, commands: readonly Command[]): string[] {
  const [group = ''] = name.split(' ')
  const others = commands.filter((one) => one.name !== name && one.name.startsWith(`${group} `))
  return aligned(others.map((one) => [one.name, one.summary]))
}

function writing(name: string, { short, type, value = 'TEXT' }: OptionSpec): string {
  return `${short === undefined ? '    ' : `-${short}, `}--${name}${type === 'boolean' ? '' : ` ${value}`}`
}

function meaning({ summary, choices, type }: OptionSpec): string {
  const several = type === 'texts' ? ' (may be repeated)' : ''
  return `${summary}${choices ? `: ${choices.join(', ')}` : ''}${several}`
}

function aligned(rows: [string, string][]): string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
