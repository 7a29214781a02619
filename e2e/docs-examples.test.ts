/**
 * Every code block of the documentation and of the SDK's comments, taken from where it stands and run against a service.
 * The last test fails for a block that is neither run here nor named in `notHere`.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { codeBlocks, root } from './code-blocks.ts'
import type { CodeBlock } from './code-blocks.ts'
import { commandLineIn } from './command-line.ts'
import { startDocsSetup } from './docs-setup.ts'
import type { DocsSetup } from './docs-setup.ts'
import { prepareExamples } from './docs-typescript.ts'
import type { Examples } from './docs-typescript.ts'
import { installAlone } from './packing.ts'
import { succeeded } from './person.ts'

/** Blocks that can't be run here, by a text that they have, and why. */
const notHere: [file: string, text: string, reason: string][] = [
  ['README.md', 'npm start', 'runs the service and all tests; e2e/starting.test.ts starts it'],
  ['README.md', '--request acorn', 'needs the demo and a person; e2e/demo.test.ts runs it'],
  ['CONTRIBUTING.md', 'npm run dev', 'for people who change the code: servers, and all tests'],
  ['server/README.md', 'npx sallyport-server', 'e2e/packages.test.ts runs it from the tarball'],
  ['docs/install.md', 'sha256sum --check', 'e2e/release.test.ts unpacks and runs it'],
  ['docs/install.md', 'sudo systemctl', 'needs systemd; e2e/deployment.test.ts has it check the unit'],
  ['docs/install.md', 'deploy/secrets', 'e2e/deployment.test.ts makes the secrets'],
  ['docs/install.md', 'docker build', 'needs a container engine; e2e/deployment.test.ts runs what it would start'],
  ['docs/install.md', 'npm install ./', 'e2e/packages.test.ts runs it'],
  ['docs/install.md', 'npm start', 'e2e/starting.test.ts starts it'],
  [
    'docs/runbook.md',
    '',
    'e2e/backup.test.ts runs backup and restore; the rest needs systemd and the tools of PostgreSQL',
  ],
  ['docs/upgrading.md', 'ln -sfn', 'needs systemd and a release of another version'],
  ['docs/operating.md', 'audit follow', 'runs until it is stopped; e2e/audit-follow.test.ts'],
  ['docs/operating.md', 'sudo useradd', 'changes the users of the machine; e2e/own-user.test.ts'],
  ['docs/operating.md', 'sudo systemctl', 'needs systemd; e2e/own-user.test.ts reads the unit'],
  ['docs/operating.md', 'vault write', 'needs Vault; e2e/starting.test.ts has its protocol spoken'],
  ['docs/operating.md', 'SALLYPORT_MASTER_KEY_VAULT=', 'the same'],
  ['docs/reliability.md', 'frontend sallyport', 'npm run endurance -- --faults runs it'],
  ['docs/python.md', 'class SallyportAdapter', 'e2e/sdk-libraries.test.ts runs it'],
  ['docs/python.md', 'requests.Session()', 'e2e/sdk-libraries.test.ts runs it'],
  ['docs/python.md', 'class SallyportTransport', 'e2e/sdk-libraries.test.ts runs it'],
  ['docs/python.md', 'httpx.Client(transport', 'e2e/sdk-libraries.test.ts runs it'],
]

/** What a shell block prints, page by page. */
const prints: Record<string, RegExp[]> = {
  'README.md': [/"login":"octocat"/, /\[REDACTED\]/],
  'SKILL.md': [/"authorization":"Bearer \[REDACTED\]"/, /"providers":\[\{/, /"method":"POST".*"a":1/],
  'cli/README.md': [/\[REDACTED\]/, /^ {2}register /m],
  'docs/approvals.md': [/^cal_\w+\twaiting\t/m],
  'docs/cli.md': [/^agt_/m, /\[REDACTED\]/, /^grt_/m, /"login":"octocat"/],
  'docs/gateway.md': [/(?:"login":"octocat"[^]*){5}/, /refused$/m],
  'docs/mcp.md': [/^\["mcp","add",/m],
  'docs/operating.md': [/v1 key is now \S+, SHA256:/, /✓ .* nothing was changed, removed or reordered/],
  'docs/tool-calls.md': [/"login":"octocat"/],
  'docs/sdk.md': [/sallyport-sdk-[\d.]+tgz/],
}

/** Code that is run after a block that has the text, to show what the block did. */
const proofs: Record<string, string> = {
  'isWanted(': 'console.log((await user.grants.list({ limit: 1 }).page()).grants[0]?.max_calls)',
  'requestAccess(error.accessRequest)': `
    const [newest] = (await agent.audit.list({ event: 'access_request.created', limit: 1 }).page()).records
    console.log((await agent.accessRequest(String(newest?.detail['access_request_id']))).methods)`,
  'createLegacyClient({': 'console.log(items, missing)',
  'const slack =': 'console.log(await slack.auth.test().catch((error: any) => error.data.error))',
  'const linear =': 'console.log(await linear.teams().catch((error) => /host_not_allowed/.exec(String(error))?.[0]))',
}

/** What a TypeScript block logs, by a text that the block has. */
const logs: Record<string, RegExp> = {
  "provider_slug: 'github-token'": /octocat/,
  "provider_slug: 'tickets'": /basic.*Support/,
  "kind: 'aws_sigv4'": /aws_sigv4.*Backups/,
  "auth_methods: [{ kind: 'client_credentials' }]": /active.*machines/,
  "kind: 'github_app'": /ada-labs \(agents\).*contents:read.*issues:write/,
  "kind: 'google_service_account'": /agents@ada-labs.*drive.readonly/,
  'console.log(status, body)': /^\[\[200,.*"authorization":"Bearer \[REDACTED\]"/,
  'const slack =': /^\[\["host_not_allowed"\]\]$/,
  'const linear =': /^\[\["host_not_allowed"\]\]$/,
  "'GET /user'": /octocat/,
  'octokit.paginate': /first.*second/,
  '.grants.list({': /^\[\["grt_/,
  'isWanted(': /"asks for","GitHub","To help you".*,\[10\]\]$/,
  'requestAccess(error.accessRequest)': /^\[\[\["DELETE"\]\]\]$/,
  'user.calls.list(': /"wants to:","GET \/user at .*\]/,
  'const fetch = agent.fetch(grant_id, {': /"Please decide at .*\[200\]/,
  "'x-sallyport-reason'": /"Please decide at .*\[200\]/,
  approval_pending: /"Please decide at .*\[200\]/,
  'verifyReceipt(': /^\[\["signed",\["connection_id","max_calls"\]\]\]$/,
  'verifyCallback(': /^\[\["grt_/,
  'createLegacyClient({': /"value":\{"plan":"large"\}.*\["other"\]\]\]$/,
}

describe('a code block of the documentation', () => {
  const blocks = codeBlocks()
  const isHere = (block: CodeBlock) => !notHere.some(([file, text]) => block.file === file && block.code.includes(text))
  const run = new Set<CodeBlock>()
  const take = (language: string, pages = /./) => {
    const taken = blocks.filter((block) => isHere(block) && block.language === language && pages.test(block.file))
    for (const block of taken) run.add(block)
    return taken
  }
  let setup: DocsSetup
  let examples: Examples
  const endings: (() => unknown)[] = []
  const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startDocsSetup>[0]

  /** All of them in one shell, so that a block has the variables of those before it. */
  const shellOf = async (page: string) => {
    const codes = shellBlocks.filter(({ file }) => file === page).map(({ code }) => setup.fill(code))
    const changes: Record<string, string> = {
      ...(page !== 'docs/mcp.md' && { HOME: setup.newHome() }),
      ...(/^(?:README|docs\/tool-calls)\.md$/.test(page) && { SALLYPORT_AGENT_TOKEN: setup.agent.token }),
      ...(/^docs\/(?:approvals|cli)\.md$/.test(page) && { SALLYPORT_SESSION_TOKEN: setup.personToken }),
      ...(page === 'docs/operating.md' && { ...setup.service.env, PATH: setup.env['PATH'] ?? '' }),
    }
    if (page === 'docs/approvals.md') await makeHeldCall()
    if (page === 'docs/gateway.md') {
      // With one grant, so that no call has to name it.
      const { token, grantId } = await setup.admit()
      changes['SALLYPORT_AGENT_TOKEN'] = token
      codes.forEach((code, index) => (codes[index] = code.replaceAll(setup.grantId, grantId)))
    }
    const cwd = page === 'cli/README.md' ? await installPacked('cli') : setup.clone
    return setup.shell(codes.join('\necho\n'), changes, cwd)
  }
  const makeHeldCall = async () => {
    const call = { grant_id: await setup.grantAgain({ mode: 'ask_all' }), method: 'GET', url: `${setup.api}/user` }
    const { status } = await setup.service.call('POST', '/v4/proxy', { token: setup.agent.token, body: call })
    assert.equal(status, 202)
  }
  /** Of the tarball that docs/cli.md has made in the clone. */
  const installPacked = (name: string) => {
    const tarball = readdirSync(setup.clone).find((file) => file.startsWith(`sallyport-${name}-`)) ?? ''
    return installAlone(setup.newHome(), join(setup.clone, tarball))
  }
  const shellBlocks = take('sh')
  const typescriptBlocks = [...take('ts'), ...take('js', /^docs\/legacy-v1/)]
  const clients: Client[] = []
  const toolsOf = async (transport: Parameters<Client['connect']>[0]) => {
    const client = new Client({ name: 'a reader', version: '1' })
    clients.push(client)
    await client.connect(transport)
    return (await client.listTools()).tools.map(({ name }) => name)
  }

  before(async () => {
    setup = await startDocsSetup(scope)
    // It installs the SDK that the others import.
    const printed = await shellOf('docs/sdk.md')
    for (const pattern of prints['docs/sdk.md'] ?? []) assert.match(printed, pattern)
    examples = await prepareExamples(setup, typescriptBlocks, proofs)
  })
  after(async () => {
    for (const client of clients) await client.close()
    for (const ending of endings) await ending()
  })

  test('compiles with the packed SDK', () => {
    assert.deepEqual(examples.complaints(), [])
  })

  for (const block of typescriptBlocks) {
    test(`runs: ${block.file}, line ${block.line}`, async () => {
      const said = JSON.stringify(await examples.run(block))
      for (const [text, pattern] of Object.entries(logs)) if (block.code.includes(text)) assert.match(said, pattern)
    })
  }

  // It uses the command line that docs/cli.md installs.
  const isLast = (page: string) => Number(/^docs\/(?:approvals|gateway)\.md$/.test(page))
  const shellPages = [...new Set(shellBlocks.map(({ file }) => file))]
  for (const page of shellPages.sort((one, other) => isLast(one) - isLast(other))) {
    if (page === 'docs/sdk.md' || page === 'docs/mcp.md') continue
    test(`runs in a shell: ${page}`, async () => {
      const printed = await shellOf(page)
      for (const pattern of prints[page] ?? [/no expectation/]) assert.match(printed, pattern)
    })
  }

  test('runs in a shell: the first steps of sallyport --help', async () => {
    const help = await setup.shell('sallyport --help')
    const steps = help.slice(help.indexOf('First steps')).match(/^ {2}sallyport .*$/gm) ?? []
    assert.equal(steps.length, 4)
    const printed = await setup.shell(setup.fill(steps.join('\n')), { HOME: setup.newHome() })
    for (const pattern of prints['docs/cli.md'] ?? []) assert.match(printed, pattern)
  })

  test('is a request that the service accepts', async () => {
    const { service, agent, fill } = setup
    let access_request_id = ''
    for (const { code } of take('http', /^SKILL/)) {
      const [line = '', body = ''] = fill(code).trim().replace('{access_request_id}', access_request_id).split('\n\n')
      const [method = '', path = ''] = line.split(' ')
      const sent = body === '' ? {} : { body: JSON.parse(body) as object }
      const { body: answer } = succeeded(await service.call(method, path, { token: agent.token, ...sent }))
      access_request_id = answer.access_request_id ?? access_request_id
      if (path === '/v4/proxy')
        assert.deepEqual([answer.status, answer.body[0].title], [200, 'first'], 'an API answered')
    }
    assert.match(access_request_id, /^arq_/)
  })

  test('is terms that a person can set', async () => {
    const [block] = take('json', /^docs\/approvals/)
    const terms = JSON.parse(block?.code ?? '') as object
    const grantId = await setup.grantAgain(terms)
    const { body } = await setup.service.call('GET', '/v4/grants', { token: setup.agent.token })
    const grant = body.grants.find(({ grant_id }: { grant_id: string }) => grant_id === grantId)
    assert.partialDeepStrictEqual(grant, terms)
  })

  test("matches what the start screen's commands print", async () => {
    const [block] = take('json', /^README/)
    const [, shown = ''] = setup.service.stdout.split('paste this')
    const pasted = shown.split('\n').filter((line) => line.startsWith('    '))
    const answer: unknown = JSON.parse(await setup.shell(pasted.join('\n')))
    assert.partialDeepStrictEqual(answer, JSON.parse(block?.code ?? ''))
  })

  describe('with the configuration of an MCP client', () => {
    let home: ReturnType<typeof commandLineIn>
    let told: string[][]
    let url: string
    let mcpToken: string
    before(async () => {
      home = commandLineIn(setup.env['HOME'] ?? '', { SALLYPORT_URL: setup.base })
      scope.after(home.stop)
      assert.equal((await home.run(['register', 'Claude'])).code, 0)
      const server = home.start(['mcp', '--http', '--port', '0'])
      url = /http:\S+/.exec(await server.until(/\/mcp\n/))?.[0] ?? ''
      mcpToken = readFileSync(join(home.home, '.config/sallyport/mcp-token'), 'utf8').trim()
      told = (await shellOf('docs/mcp.md')).split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    })
    const started = (command: string, args: string[], more: Record<string, string> = {}) =>
      toolsOf(new StdioClientTransport({ command, args, env: { ...getDefaultEnvironment(), ...setup.env, ...more } }))
    const over = (at: string, headers: Record<string, string>) =>
      toolsOf(new StreamableHTTPClientTransport(new URL(at), { requestInit: { headers } }))

    for (const block of [...take('json', /^docs\/mcp/), ...take('toml', /^docs\/mcp/)]) {
      test(`in ${block.language}, line ${block.line}`, async () => {
        const { sallyport } = serversIn(setup.fill(block.code), block.language)
        const { command = '', args = [], env, url: at, headers } = sallyport ?? {}
        const token = { Authorization: headers?.['Authorization']?.replace('${SALLYPORT_MCP_TOKEN}', mcpToken) ?? '' }
        const tools = at === undefined ? await started(command, args, env) : await over(documentedUrl(at, url), token)
        assert.ok(tools.includes('call_api'))
      })
    }

    test('with the commands of Claude Code', async () => {
      const [stdio = [], http = []] = told
      assert.deepEqual(stdio.slice(0, 4), ['mcp', 'add', 'sallyport', '--'])
      assert.ok((await started(stdio[4] ?? '', stdio.slice(5))).includes('call_api'))
      const [transport, kind, name, at = '', option, header = ''] = http.slice(2)
      assert.deepEqual([transport, kind, name, option], ['--transport', 'http', 'sallyport', '--header'])
      const [headerName = '', value = ''] = header.split(': ')
      assert.ok((await over(documentedUrl(at, url), { [headerName]: value })).includes('call_api'))
    })
  })

  test('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const pages = [...new Set(blocks.map(({ file }) => file))].filter((file) => file.endsWith('.md'))
    const named = pages
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:]+)/g)].map(([, name = '']) => name))
    assert.deepEqual(
      [...new Set(named)].filter((name) => !(name in scripts)),
      [],
    )
  })

  test('is run here or has a reason not to', () => {
    const left = blocks.filter((block) => isHere(block) && !run.has(block))
    assert.deepEqual(
      left.map(({ file, line, language }) => `${file}:${line} ${language}`),
      [],
    )
    const stale = notHere.filter(([file, text]) => !blocks.some((one) => one.file === file && one.code.includes(text)))
    assert.deepEqual(stale, [])
    assert.ok(run.size > 40, String(run.size))
  })
})

interface McpServer {
  command?: string
  args?: string[]
  env?: Record<string, string>
  url?: string
  headers?: Record<string, string>
}

/** Whatever a client calls its list of servers. */
function serversIn(code: string, language: string): Record<string, McpServer> {
  if (language === 'json') return Object.values(JSON.parse(code) as Record<string, Record<string, McpServer>>)[0] ?? {}
  const [, name = ''] = /^\[\w+\.(\w+)\]$/m.exec(code) ?? []
  const members = [...code.matchAll(/^(\w+) = (.*)$/gm)].map(([, key = '', value = '']) => [key, JSON.parse(value)])
  return { [name]: Object.fromEntries(members) }
}

/** Where the server listens, in place of the documented port. */
function documentedUrl(documented: string, actual: string): string {
  assert.equal(documented, 'http://127.0.0.1:8791/mcp')
  return actual
}
