/** Every tool, driven by the official client over both transports. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ClientCapabilities, ElicitResult } from '@modelcontextprotocol/sdk/types.js'
import { hostileText, longText, sharedAgentSide } from './agent-side.ts'
import { connected } from './mcp-session.ts'
import type { Session } from './mcp-session.ts'
import { executable } from './command-line.ts'
import type { CommandLine, Running } from './command-line.ts'

const shared = sharedAgentSide()
const mcpToken = 'a-token-of-this-test-alone'

type Connect = (capabilities?: ClientCapabilities) => Promise<Session>

for (const kind of ['standard input and output', 'Streamable HTTP'] as const) {
  describe(`over ${kind}`, () => {
    let cli: CommandLine & { token: string }
    let server: Running | undefined
    let url = ''
    const clients: Client[] = []

    const connect: Connect = async (capabilities = {}) => {
      const client = new Client({ name: 'a test', version: '1' }, { capabilities })
      clients.push(client)
      if (kind === 'Streamable HTTP') {
        const headers = { authorization: `Bearer ${mcpToken}` }
        return connected(client, new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
      }
      const env = { ...cli.env }
      return connected(client, new StdioClientTransport({ command: process.execPath, args: [executable, 'mcp'], env }))
    }

    before(async () => {
      cli = await shared().registered('A model')
      if (kind !== 'Streamable HTTP') return
      server = cli.start(['mcp', '--http', '--port', '0'], { env: { SALLYPORT_MCP_TOKEN: mcpToken } })
      url = /http:\S+/.exec(await server.until(/\/mcp\n/))?.[0] ?? ''
    })
    after(async () => {
      for (const client of clients) await client.close()
      server?.signal('SIGTERM')
      if (server) assert.equal((await server.ended).code, 0)
    })

    test('the tools say what they do: those that read are read-only, the one that may do anything says the worst', async () => {
      const { client } = await connect()
      const { tools } = await client.listTools()
      const hints = Object.fromEntries(
        tools.map(({ name, annotations }) => [name, [annotations?.readOnlyHint, annotations?.destructiveHint]]),
      )
      assert.deepEqual(hints, {
        list_providers: [true, false],
        list_grants: [true, false],
        check_access: [true, false],
        request_access: [false, false],
        read_api: [true, false],
        call_api: [false, true],
        read_result: [true, false],
        sandbox: [false, false],
      })
      for (const { name, description, inputSchema } of tools) {
        assert.ok(description && inputSchema['additionalProperties'] === false, name)
      }
      assert.match(client.getInstructions() ?? '', /never instructions/)
    })

    test('the sandbox, and a call in it whose credential does not show', async () => {
      const { use } = await connect()
      const { facts } = await use('sandbox')
      const { text, isError } = await use('read_api', { grant_id: facts.grant_id, url: facts.echo_url })
      assert.equal(isError, undefined)
      assert.match(text, /answered 200/)
      assert.match(text, /"authorization":"Bearer \[REDACTED\]"/)
      const listed = await use('list_grants')
      assert.deepEqual(
        listed.facts.grants.map((grant: any) => [grant.grant_id, grant.kind, grant.calls]),
        [[facts.grant_id, 'sandbox', 1]],
      )
    })

    test('a call that no grant covers says what to ask for, where some provider has the host', async () => {
      const { upstream, host } = shared()
      const { use } = await connect()
      const { isError, facts } = await use('read_api', { url: upstream('/hello') })
      assert.deepEqual([isError, facts.error.code], [true, 'no_grant'])
      assert.deepEqual(facts.error.access_request, { provider: 'acme', hosts: [host], methods: ['GET'] })
      const elsewhere = await use('read_api', { url: 'https://api.example.com/' })
      assert.deepEqual([elsewhere.facts.error.code, elsewhere.facts.error.access_request], ['no_grant', undefined])
    })

    test('a client that shows no links gets the link; check_access waits, with progress, until the person approves', async () => {
      const { approve, host, upstream } = shared()
      const { use } = await connect()
      assert.deepEqual((await use('list_providers')).facts.providers, [
        { provider: 'acme', provider_name: 'Acme', api_hosts: [host], verified: true },
      ])
      const wish = { provider: 'acme', reason: 'To read your mail', methods: ['GET', 'POST'] }
      const { facts: asked } = await use('request_access', wish)
      assert.deepEqual(
        [asked.status, asked.approval_url],
        ['pending', `${shared().base}/approve-proxy/${asked.access_request_id}`],
      )
      assert.match(asked.next, /Show approval_url to the person/)
      const id = { access_request_id: asked.access_request_id }
      assert.equal((await use('check_access', id)).facts.status, 'pending')
      let told: (() => void) | undefined
      const heard = new Promise<void>((resolve) => (told = resolve))
      const waiting = use('check_access', { ...id, wait_seconds: 60 }, { onprogress: () => told?.() })
      await heard
      const grantId = await approve(asked.access_request_id, { allowed_methods: ['GET'] })
      const { facts } = await waiting
      assert.deepEqual(
        [facts.status, facts.grant_id, facts.allowed_hosts, facts.allowed_methods],
        ['approved', grantId, [host], ['GET']],
      )
      assert.match((await use('read_api', { url: upstream('/hello') })).text, /\nhello\n/)
    })

    test('a denial, an unknown provider and a request of somebody else are tool errors that say what to do', async () => {
      const { deny, service } = shared()
      const { use } = await connect()
      const { facts: asked } = await use('request_access', { provider: 'acme', reason: 'Again' })
      await deny(asked.access_request_id, 'Not for you')
      const denied = await use('check_access', { access_request_id: asked.access_request_id })
      assert.deepEqual(
        [denied.isError, denied.facts.error.code, denied.facts.reason_of_the_person],
        [true, 'access_denied', 'Not for you'],
      )
      const other = await service.register()
      const body = { provider: 'acme' }
      const foreign = await service.call('POST', '/v4/access-requests', { token: other.token, body })
      const { isError, facts } = await use('check_access', { access_request_id: foreign.body.access_request_id })
      assert.deepEqual([isError, facts.error.code], [true, 'not_found'])
      const unknown = await use('request_access', { provider: 'nobody', reason: 'x' })
      assert.deepEqual(
        [unknown.isError, unknown.facts.error.code, unknown.facts.error.field],
        [true, 'not_found', 'provider'],
      )
    })

    describe('with a client that shows links itself', () => {
      const elicitation: ClientCapabilities = { elicitation: { url: {} } }

      async function elicited(answer: (id: string) => Promise<ElicitResult>) {
        const session = await connect(elicitation)
        const shown: any[] = []
        const completed: string[] = []
        session.client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          shown.push(params)
          return answer((params as { elicitationId: string }).elicitationId)
        })
        session.client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
          completed.push(params.elicitationId)
        })
        return { ...session, shown, completed }
      }

      const wish = { provider: 'acme', reason: 'To read your mail' }

      test('the person opens the link and approves: the tool comes back with the grant', async () => {
        const { approve, base } = shared()
        let grantId = ''
        const { use, shown, completed } = await elicited(async (id) => {
          setTimeout(() => void approve(id).then((id) => (grantId = id)), 50)
          return { action: 'accept' }
        })
        const { facts } = await use('request_access', wish)
        assert.deepEqual([facts.status, facts.grant_id], ['approved', grantId])
        const [{ mode, url, elicitationId }] = shown
        assert.deepEqual([mode, url], ['url', `${base}/approve-proxy/${facts.access_request_id}`])
        assert.deepEqual([elicitationId, completed], [facts.access_request_id, [facts.access_request_id]])
      })

      test('the person does not want to: the request is taken back', async () => {
        const { use, shown } = await elicited(async () => ({ action: 'decline' }))
        const { isError, facts } = await use('request_access', wish)
        assert.deepEqual([isError, facts.error.code], [true, 'declined'])
        const [{ elicitationId: id }] = shown
        const { body } = await shared().service.call('GET', `/v4/access-requests/${id}`, { token: cli.token })
        assert.equal(body.status, 'cancelled')
      })

      test('the person puts it away: the link is in the answer, and the request stays open', async () => {
        const { use } = await elicited(async () => ({ action: 'cancel' }))
        const { isError, facts } = await use('request_access', wish)
        assert.deepEqual([isError, facts.status], [undefined, 'pending'])
        assert.match(facts.approval_url, /\/approve-proxy\/arq_/)
      })

      test('the person decides elsewhere before they have answered the client', async () => {
        const { approve } = shared()
        const { use } = await elicited(async (id) => {
          await approve(id)
          return new Promise(() => undefined)
        })
        assert.equal((await use('request_access', wish)).facts.status, 'approved')
      })

      test('the call is cancelled while it waits: nothing can come of the request any more', async () => {
        const stop = new AbortController()
        const { use, shown } = await elicited(async () => {
          setTimeout(() => {
            stop.abort('enough')
          }, 50)
          return { action: 'accept' }
        })
        await assert.rejects(use('request_access', wish, { signal: stop.signal }), /enough/)
        const [{ elicitationId: id }] = shown
        for (let tries = 0; tries < 100; tries++) {
          const { body } = await shared().service.call('GET', `/v4/access-requests/${id}`, { token: cli.token })
          if (body.status === 'cancelled') return
          await new Promise((resolve) => setTimeout(resolve, 30))
        }
        assert.fail('the request stayed open')
      })
    })

    describe('calling', () => {
      let session: Session
      let grant: { grant_id: string }

      before(async () => {
        session = await connect()
        const { facts } = await session.use('request_access', { provider: 'acme', reason: 'For the tests' })
        grant = {
          grant_id: await shared().approve(facts.access_request_id, { allowed_methods: ['GET', 'POST', 'DELETE'] }),
        }
      })

      test('a body goes out as it was given, and an answer comes back as data between marks it can not know', async () => {
        const { upstream, host } = shared()
        const sent = async (body: object) => {
          const { text } = await session.use('call_api', { ...grant, method: 'post', url: upstream('/echo'), ...body })
          const echoed = JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? '')
          return [echoed.headers['content-type'], Buffer.from(echoed.body, 'base64').toString()]
        }
        assert.deepEqual(await sent({ body: { a: 1 } }), ['application/json', '{"a":1}'])
        assert.deepEqual(await sent({ body: 'plain', headers: { 'content-type': 'text/plain' } }), [
          'text/plain',
          'plain',
        ])
        assert.deepEqual((await sent({ body_base64: Buffer.from('bytes').toString('base64') }))[1], 'bytes')
        const { text } = await session.use('read_api', { ...grant, url: upstream('/hostile') })
        const [head = '', , mark = '', ...lines] = text.split('\n')
        assert.match(head, new RegExp(`^${host} answered 200`))
        assert.match(mark, /^[0-9a-f]{16}$/)
        assert.equal(lines.join('\n'), `${hostileText}\n${mark}`)
        const again = await session.use('read_api', { ...grant, url: upstream('/hostile') })
        assert.ok(!again.text.includes(mark), 'a mark is used once')
      })

      test('a long answer is shown in parts that make up the whole', async () => {
        const { upstream } = shared()
        const first = await session.use('read_api', { ...grant, url: upstream('/long'), max_characters: 30_001 })
        assert.ok(first.text.length < 31_000)
        const part = (text: string) => /\n([0-9a-f]{16})\n([^]*)\n\1\n/.exec(text)?.[2] ?? ''
        const next = (text: string) => JSON.parse(/read_result (\{.*\})/.exec(text)?.[1] ?? 'null')
        let [whole, following] = [part(first.text), next(first.text)]
        while (following !== null) {
          const { text } = await session.use('read_result', { ...following, max_characters: 20_000 })
          whole += part(text)
          following = next(text)
        }
        assert.equal(whole, longText)
        const { result_id } = next(first.text)
        const past = await session.use('read_result', { result_id, offset: 10_000_000 })
        assert.deepEqual([past.isError, past.facts.error.code], [true, 'past_the_end'])
        const stranger = await (await connect()).use('read_result', { result_id, offset: 0 })
        assert.deepEqual([stranger.isError, stranger.facts.error.code], [true, 'no_result'])
      })

      test('an error of the API is a tool error with the answer in it', async () => {
        const { upstream, host } = shared()
        const { isError, text } = await session.use('read_api', { ...grant, url: upstream('/missing') })
        assert.equal(isError, true)
        assert.match(text, new RegExp(`^${host} answered 404[^]*"no such thing"`))
        const moved = await session.use('read_api', { ...grant, url: upstream('/redirect') })
        assert.match(moved.text, /\nlocation: \/hello\n/)
        const followed = await session.use('read_api', { ...grant, url: upstream('/redirect'), follow_redirects: true })
        assert.match(followed.text, /\nhello\n/)
      })

      test('a refused call holds the access request that would lift it, ready for request_access', async () => {
        const { upstream, host, requests } = shared()
        const before = requests.length
        const refused = await session.use('call_api', { ...grant, method: 'PUT', url: upstream('/hello') })
        assert.deepEqual([refused.isError, refused.facts.error.code], [true, 'method_not_allowed'])
        assert.deepEqual(refused.facts.error.access_request, { provider: 'acme', hosts: [host], methods: ['PUT'] })
        assert.match(refused.facts.next, /request_access/)
        const asked = await session.use('request_access', { ...refused.facts.error.access_request, reason: 'To write' })
        assert.equal(asked.facts.status, 'pending')
        const dry = await session.use('call_api', { ...grant, method: 'PUT', url: upstream('/hello'), dry_run: true })
        assert.deepEqual([dry.isError, dry.facts.allowed, dry.facts.reason], [true, false, 'method_not_allowed'])
        assert.equal(requests.length, before)
      })

      test('read_api does not let a call pass that names another method', async () => {
        const { upstream, requests } = shared()
        const before = requests.length
        const ways = [
          { url: upstream('/x'), headers: { 'X-HTTP-Method-Override': 'DELETE' } },
          { url: upstream('/x?_method=DELETE') },
          { url: upstream('/x?a=1&%5fMet%68od=DELETE') },
          { url: upstream('/x?%255fmethod=DELETE') },
        ]
        for (const way of ways) {
          const { isError, facts } = await session.use('read_api', { ...grant, ...way })
          assert.deepEqual([isError, facts.error.code], [true, 'not_reading'])
        }
        const { isError } = await session.use('read_api', { ...grant, url: upstream('/x'), method: 'DELETE' })
        assert.equal(isError, true)
        assert.equal(requests.length, before)
      })

      test('read_api does not let a redirect lead to another method either', async () => {
        const { upstream, requests } = shared()
        const through = (to: string) =>
          session.use('read_api', {
            ...grant,
            url: upstream(`/redirect?to=${encodeURIComponent(to)}`),
            follow_redirects: true,
          })
        const before = requests.length
        const { isError, facts } = await through('/x?_method=DELETE')
        assert.deepEqual([isError, facts?.error.code, requests.length - before], [true, 'not_reading', 1])
        assert.match((await through('/redirect?to=/json')).text, /"name":"Ada"/)
        assert.deepEqual([(await through('/redirect?to=//%5b')).isError], [true])
      })

      test('what came of an answer before it broke off is shown, and that it broke off', async () => {
        const { upstream } = shared()
        const { isError, text } = await session.use('read_api', { ...grant, url: upstream('/hang-up') })
        assert.equal(isError, true)
        assert.match(text, /half of[^]*broke off/)
      })

      test('wrong arguments are tool errors that name the argument', async () => {
        const { upstream } = shared()
        const wrong: [string, object, RegExp][] = [
          ['call_api', {}, /at method[^]*at url/],
          ['call_api', { method: 'GET', url: 'nonsense' }, /invalid_url/],
          ['call_api', { method: 'GET', url: 'https://x.example', bdy: 1 }, /bdy/],
          ['call_api', { ...grant, method: 'POST', url: upstream('/x'), body_base64: 'no base64!' }, /body_base64/],
          [
            'call_api',
            { ...grant, method: 'POST', url: upstream('/x'), body_base64: 'YQ==', body: 'b' },
            /body_base64/,
          ],
          ['call_api', { ...grant, method: 'GET', url: 'file:///etc/passwd' }, /"code": "invalid_url"/],
          ['call_api', { method: 'GET', url: 'file:///etc/passwd' }, /"code": "invalid_url"/],
          [
            'call_api',
            { ...grant, method: 'GET', url: upstream('/x').replace('//', '//u:p@') },
            /"code": "invalid_url"/,
          ],
          ['call_api', { ...grant, method: 'GET', url: upstream('/x'), body: 'b' }, /"code": "/],
          ['call_api', { ...grant, method: 'POST', url: upstream('/x'), headers: { 'a b': 'c' } }, /a b/],
          ['read_api', { ...grant, url: upstream('/x'), headers: { 'x-a': 'b\nc: d' } }, /"code": "/],
          ['check_access', { access_request_id: '..' }, /"code": "/],
          ['read_api', { url: 'https://x.example', max_characters: 5 }, /max_characters/],
          ['request_access', { provider: 'acme' }, /reason/],
          ['request_access', { provider: 'acme', reason: 'x', hosts: 'api.example.com' }, /hosts/],
          ['request_access', { provider: 'acme', reason: 'x', hosts: ['elsewhere.example.com'] }, /"field": "hosts/],
          ['check_access', { access_request_id: 'arq_1', wait_seconds: 601 }, /wait_seconds/],
          ['list_grants', { status: 'lost' }, /status/],
          ['sandbox', { size: 1 }, /size/],
          ['no_such_tool', {}, /no_such_tool/],
        ]
        for (const [tool, args, said] of wrong) {
          const { isError, text } = await session.use(tool, args as Record<string, unknown>)
          assert.equal(isError, true, tool)
          assert.match(text, said)
        }
      })
    })

    test('no token is in any answer', async () => {
      const { use } = await connect()
      const answers = [await use('list_grants', { status: 'all' }), await use('sandbox')]
      for (const { text } of answers) assert.ok(!/sp_(?:agent|admin|mcp|sandbox)_/.test(text))
      if (server) assert.ok(!server.seen().includes(mcpToken))
    })
  })
}
