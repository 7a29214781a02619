import { command } from '../command.ts'

export const run = command({
  name: 'run',
  group: 'agent',
  summary: 'run a command whose tools call APIs through Sallyport',
  about: `git, gh, curl, aws, Python and Node programs work as they are: the command gets a proxy, certificates and placeholders
in its environment, and Sallyport puts the credential in. Hosts of the grants go through Sallyport, others directly.
What is refused is said on standard error. Signals, terminal and exit code are the command's own.
docs/cli.md says what this protects and what it does not.
Exit codes: the command's; 126 if it can't be executed, 127 if there is none.`,
  operands: [{ name: 'command', summary: 'the command and its arguments, after --', isOptional: true }],
  takesProgram: true,
  options: {
    grant: { type: 'texts', value: 'GRANT_ID', summary: 'use this grant (default: all active grants)' },
    provider: {
      type: 'texts',
      value: 'PROVIDER',
      summary: "use the grants for this provider; an AI provider's key is set only if it is named here",
    },
    request: { type: 'texts', value: 'PROVIDER', summary: 'the same, and ask for access first if there is none' },
    reason: { type: 'text', value: 'TEXT', summary: 'with --request: why you need access; shown to the person' },
    'other-hosts': {
      type: 'text',
      value: 'HOW',
      choices: ['allow', 'deny'],
      summary: 'hosts without a grant: connect directly, if their address is public (default), or refuse them',
    },
    'print-env': {
      type: 'boolean',
      summary: 'print the variables for a container instead of running a command, and serve it until Ctrl-C',
    },
  },
  examples: [
    ['sallyport run -- curl https://api.github.com/user', 'with the grant that covers the host'],
    ['sallyport run --request github -- git push', 'asks for access if there is none yet'],
    ['sallyport run --provider github --other-hosts deny -- claude', 'an agent that reaches nothing else'],
    ['sallyport run --print-env > agent.env', 'then: docker run --network host --env-file agent.env …'],
  ],
  run: async (shell, options, program) => {
    // Loaded on demand: no other command needs it.
    const { runWithGrants } = await import('../run/run.ts')
    return runWithGrants(shell, options, program)
  },
})
