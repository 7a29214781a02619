/**
 * TypeScript of the documentation as a reader would run it: in a project where the packed SDK is installed, checked by
 * the compiler, then executed. Variables from the surrounding text, such as `agent` or `baseUrl`, are provided.
 */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type * as Sdk from '@sallyport/sdk'
import ts from 'typescript'
import { root } from './code-blocks.ts'
import type { CodeBlock } from './code-blocks.ts'
import type { DocsSetup } from './docs-setup.ts'
import { eventually } from './running-service.ts'

/** Names that examples use and do not declare, with their types. */
const given = {
  baseUrl: 'string',
  token: 'string',
  agent: 'AgentClient',
  fetch: 'typeof globalThis.fetch',
  user: 'UserClient',
  sessionToken: 'string',
  adminToken: 'string',
  grant_id: 'string',
  connection_id: 'string',
  accessRequestId: 'string',
  pairingCode: 'string',
  url: 'string',
  asked: 'CreateAccessRequestReply',
  secret: 'string',
  privateKey: 'string',
  keyFile: 'string',
  request: 'Request',
  isWanted: '(request: AccessRequest) => boolean',
  console: '{ log: (...values: unknown[]) => void }',
} as const
type Given = Record<keyof typeof given, unknown>

export interface Examples {
  /** The compiler's errors for all of them. */
  complaints: () => string[]
  /** Executes the block. Resolves to what it logged. */
  run: (block: CodeBlock) => Promise<unknown[][]>
}

/** `proofs`: code that is run after the block that has the line, to show that what it made works. */
export async function prepareExamples(
  setup: DocsSetup,
  blocks: CodeBlock[],
  proofs: Record<string, string>,
): Promise<Examples> {
  const { project } = setup
  const sdk = (await import(join(project, 'node_modules/@sallyport/sdk/dist/index.js'))) as typeof Sdk
  const imported = blocks.flatMap(({ code }) => [...code.matchAll(/^import .* from '([^']+)'/gm)])
  for (const name of new Set(imported.map(([, name = '']) => name))) {
    const link = join(project, 'node_modules', name)
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
  const members = Object.entries(given).map(([name, type]) => `  ${name}: ${type}`)
  writeFileSync(
    join(project, 'given.ts'),
    `import type { AccessRequest, AgentClient, CreateAccessRequestReply, UserClient } from '@sallyport/sdk'
     export interface Given {\n${members.join('\n')}\n}\n`,
  )
  // Octokit can be given another base URL, as for an Enterprise Server.
  writeFileSync(
    join(project, 'octokit.ts'),
    `import { Octokit as Core } from '@octokit/core'
     export const Octokit = Core.defaults({ baseUrl: '${setup.api}' })\n`,
  )
  const files = new Map(
    blocks.map((block, index) => {
      const file = join(project, `example-${index}.ts`)
      const proof = Object.entries(proofs).find(([line]) => block.code.includes(line))?.[1] ?? ''
      writeFileSync(file, asModule(setup.fill(block.code), proof, Object.keys(sdk)))
      return [block, file]
    }),
  )
  return {
    complaints: () => check([...files.values()]).map((text) => nameBlocks(text, files)),
    run: async (block) => {
      const { example } = (await import(files.get(block) ?? '')) as { example: (given: Given) => Promise<void> }
      const said: unknown[][] = []
      await example(await gather(setup, sdk, block.code, said))
      return said
    },
  }
}

/** Imports come first, and the rest has its own scope, where it may redeclare the provided variables. */
function asModule(code: string, proof: string, exported: string[]): string {
  const imports = [...code.matchAll(/^import .*\n/gm)].map(([line]) => line)
  const missing = exported.filter(
    (name) => new RegExp(String.raw`\b${name}\b`).test(code + proof) && !imports.some((line) => line.includes(name)),
  )
  const body = code.replaceAll(/^import .*\n/gm, '')
  return `${imports.join('').replace("'@octokit/core'", "'./octokit.ts'")}
import { ${missing.join(', ')} } from '@sallyport/sdk'
import type { Given } from './given.ts'
export async function example({ ${Object.keys(given).join(', ')} }: Given) {
{
${body}
${proof}
}
}
`
}

function check(files: string[]): string[] {
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  }
  // As tsc does: libraries have more comments than types.
  const host = ts.createCompilerHost(options)
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors
  const program = ts.createProgram(files, options, host)
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file }) => {
    return `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

function nameBlocks(text: string, files: Map<CodeBlock, string>): string {
  const [block] = [...files].find(([, file]) => text.startsWith(`${file}:`)) ?? []
  return block ? `${block.file}:${block.line}${text.slice(text.indexOf(': '))}` : text
}

/** Created for each example, so that none depends on another. */
async function gather(setup: DocsSetup, sdk: typeof Sdk, code: string, said: unknown[][]): Promise<Given> {
  const { base: baseUrl, service, personToken: sessionToken, connectionId: connection_id, receiver } = setup
  const { token } = await service.register('Release notes')
  const agent = sdk.createAgentClient({ baseUrl, token })
  const user = sdk.createUserClient({ baseUrl, token: sessionToken })
  const isHeld = /onWaiting|waitMs|user\.calls/.test(code)
  const mode = isHeld ? 'ask_all' : 'allow_all'
  const approve = (id: string) => user.accessRequests.approve(id, { connection_id, mode })
  const granted = await agent.requestAccess({ provider: 'github', methods: ['GET'] })
  const { grant_id } = await approve(granted.access_request_id)
  const url = `${setup.api}/user`
  if (code.includes('user.calls'))
    await agent.proxy({ grant_id, method: 'GET', url }, { waitMs: 0 }).catch(() => undefined)
  const waiting = await agent.requestAccess({ provider: 'github' })
  const hasCallback = code.includes('verifyCallback')
  const callbackUrl = hasCallback ? { callback_url: receiver.url.href } : {}
  const asked = await agent.requestAccess({ provider: 'github', ...callbackUrl })
  const sent = receiver.received.length
  if (hasCallback) {
    await approve(asked.access_request_id)
    await eventually(() => receiver.received.length > sent, 'no callback came')
  }
  if (code.includes('.pending()')) {
    const { user_id } = (await user.auth.me()).user
    for (const provider of ['github', 'acme']) await agent.requestAccess({ provider, user_id, reason: 'To help you' })
  }
  const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' }
  return {
    fetch: agent.fetch(grant_id),
    ...{ baseUrl, token, agent, user, sessionToken, grant_id, connection_id, asked },
    adminToken: service.adminToken,
    accessRequestId: waiting.access_request_id,
    // Their number is limited.
    pairingCode: code.includes('pairingCode') ? (await user.devices.createPairingCode()).pairing_code : '',
    url,
    secret: asked.callback_secret ?? '',
    request: new Request(receiver.url, { method: 'POST', headers, body }),
    ...setup.keys,
    isWanted: () => true,
    console: {
      log: (...values: unknown[]) => {
        said.push(values)
        setup.show(values.join(' '))
      },
    },
  }
}
