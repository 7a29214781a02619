import { command } from '../command.ts'
import { completionScripts, shells } from '../completion.ts'
import { usageError } from '../failures.ts'
import { inLine } from '../terminal-text.ts'

export const completion = command({
  name: 'completion',
  group: 'setup',
  summary: 'print a shell completion script',
  operands: [{ name: 'shell', summary: shells.join(', ') }],
  examples: [
    ['echo \'eval "$(sallyport completion bash)"\' >> ~/.bashrc', 'bash'],
    ['echo \'eval "$(sallyport completion zsh)"\' >> ~/.zshrc', 'zsh, after compinit'],
    ['sallyport completion fish > ~/.config/fish/completions/sallyport.fish', 'fish'],
  ],
  run: async (shell, _options, [name = '']) => {
    const known = shells.find((one) => one === name)
    if (known === undefined) throw usageError(`<shell>: got "${inLine(name)}"; expected one of ${shells.join(', ')}`)
    shell.output.line(completionScripts[known].trimEnd())
    return undefined
  },
})
