/** Errors of ours, as each tool shows them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { openTunnel, startTools } from '../../testkit/tool-calling.ts'
import { errorFormatAt } from '../providers/presets/tool-rules.ts'

test('git and S3 have formats of their own, where they are called', () => {
  const formats: [string, string, string | undefined][] = [
    ['github.com', '/o/r/info/refs', 'git_text'],
    ['github.com', '/o/r.git/git-receive-pack', 'git_text'],
    ['github.com', '/o/r', undefined],
    ['api.github.com', '/repos/o/r/info/refs', undefined],
    ['gitlab.com', '/group/sub/project.git/git-upload-pack', 'git_text'],
    ['bitbucket.org', '/o/r/info/refs', 'git_text'],
    ['huggingface.co', '/datasets/o/r/info/refs', 'git_text'],
    ['bucket.s3.eu-west-1.amazonaws.com', '/key', 's3_xml'],
    ['s3.amazonaws.com', '/', 's3_xml'],
    ['dynamodb.eu-west-1.amazonaws.com', '/', undefined],
    ['elsewhere.example', '/o/r/info/refs', undefined],
  ]
  for (const [host, path, format] of formats) assert.equal(errorFormatAt(host, path), format, host + path)
})

onBothDatabases('an error at the doors of tools', (engine) => {
  test('is written as its tool reads it, also before anyone is identified', async (t) => {
    const calling = await startCalling(t, engine)
    const { key } = await startTools(t, calling)
    for (const [sent, status, code] of [
      [key, 403, 'host_not_allowed'],
      ['sp_key_none', 401, 'unauthenticated'],
    ] as const) {
      const at = (host: string) => openTunnel(t, calling, { key: sent, host, version: 'HTTP/1.1' })
      const git = await (await at('github.com'))('/o/r/info/refs?service=git-upload-pack')
      assert.deepEqual([git.status, git.headers['x-sallyport-error']], [status, code])
      assert.equal(git.headers['content-type'], 'text/plain; charset=utf-8')
      assert.match(git.text, /^Sallyport: [A-Z].*\n$/)
      const s3 = await (await at('bucket.s3.eu-west-1.amazonaws.com'))('/key')
      assert.deepEqual([s3.status, s3.headers['content-type']], [status, 'application/xml'])
      assert.match(
        s3.text,
        new RegExp(`<Error><Code>${code}</Code><Message>[^<]+</Message><RequestId>req_\\w+</RequestId></Error>$`),
      )
      const other = await (await at('api.elsewhere.example'))('/')
      assert.deepEqual(
        [other.status, other.body.error.code, other.body.message],
        [status, code, other.body.error.message],
      )
      const head = await (await at('api.elsewhere.example'))('/', { method: 'HEAD' })
      assert.deepEqual([head.status, head.text, head.headers['x-sallyport-error']], [status, '', code])
    }
  })

  test('is the usual one elsewhere, and unmarked requests find no tunnel', async (t) => {
    const calling = await startCalling(t, engine)
    const { key } = await startTools(t, calling)
    const { status, body } = await calling.service.call('GET', '/v4/gateway/tunnelled', { token: key })
    assert.deepEqual([status, body.error.code], [404, 'not_found'])
    const proxy = await calling.service.call('POST', '/v4/proxy', { token: key, body: { grant_id: calling.grantId } })
    assert.deepEqual([proxy.status, proxy.body.error.code, proxy.body.message], [403, 'forbidden', undefined])
  })
})
