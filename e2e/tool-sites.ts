/** What tools talk to in tests: an API of our own, and as much of GitHub, S3 and the npm and Python registries as they need. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { verifyAws } from '../server/testkit/aws-verifier.ts'
import type { AnswerHandshake } from '../server/testkit/tls-upstream.ts'
import { agree } from '../server/testkit/websocket.ts'

export function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** The credential that a request came with, also inside Basic. */
export function credentialIn({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const { authorization = '' } = headers
  const [, basic] = /^Basic (.+)$/i.exec(authorization) ?? []
  return basic === undefined ? authorization : Buffer.from(basic, 'base64').toString()
}

export interface CarelessApi {
  answer: RequestListener
  /** Sends the second event to those who wait for one. */
  goOn: () => void
}

/** How many calls `/together` answers at the same time. */
export const together = 8

/** Returns the credential, as a careless API does. 401 without one. Each credential is of an account of its own. */
export function carelessApi(): CarelessApi {
  let listening: ServerResponse[] = []
  let waiting: (() => void)[] = []
  const answer = (request: IncomingMessage, response: ServerResponse, bytes: number) => {
    const { method, url = '', headers } = request
    const { authorization } = headers
    if (authorization === undefined) {
      sendJson(response, 401, { message: 'Who are you?' })
    } else if (url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: first ${authorization}\n\n`)
      listening.push(response)
    } else {
      const id = createHash('sha256').update(authorization).digest('hex').slice(0, 8)
      sendJson(response, 200, { id, login: 'ada', method, url, authorization, bytes }, { 'x-debug': authorization })
    }
  }
  return {
    answer: (request, response) => {
      void buffer(request).then(({ length }) => {
        if (!request.url?.startsWith('/together')) {
          answer(request, response, length)
          return
        }
        waiting.push(() => {
          answer(request, response, length)
        })
        if (waiting.length < together) return
        for (const go of waiting) go()
        waiting = []
      })
    },
    goOn: () => {
      for (const response of listening) response.end('data: second\n\n')
      listening = []
    },
  }
}

/** Greets with the credential, then sends back what it gets. */
export const echo: AnswerHandshake = (request, socket) => {
  const peer = agree(request, socket)
  peer.send('text', `hello ${request.headers.authorization ?? 'stranger'}`)
  const serve = async () => {
    for (let message = await peer.next(); message; message = await peer.next()) {
      peer.send(message.kind, message.data)
      if (message.kind === 'close') socket.end()
    }
  }
  void serve()
}

/** github.com and api.github.com. Each repository that is asked for exists, with one commit. */
export function github(): RequestListener {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-git-'))
  const start = join(folder, 'start')
  const git = (...words: string[]) => execFileSync('git', words, { cwd: folder, env: gitEnvironment(folder) })
  const known = new Set<string>()
  const api = carelessApi()
  const create = (name: string) => {
    if (known.has(name)) return
    if (known.size === 0) {
      git('init', '--quiet', '--initial-branch=main', start)
      writeFileSync(join(start, 'README'), 'hello from upstream\n')
      git('-C', start, 'add', '.')
      git('-C', start, 'commit', '--quiet', '--message=Start')
    }
    known.add(name)
    git('clone', '--quiet', '--bare', start, `ada/${name}.git`)
    git('-C', `ada/${name}.git`, 'config', 'http.receivepack', 'true')
  }
  return (request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', `https://${request.headers.host ?? ''}`)
    if (request.headers.host === 'api.github.com') {
      api.answer(request, response)
      return
    }
    const [, name] = /^\/ada\/([\w-]+)\.git\//.exec(pathname) ?? []
    if (name === undefined || !/^x-access-token:\w/.test(credentialIn(request))) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="GitHub"' }).end('Who are you?')
      return
    }
    create(name)
    serveGit(request, response, { folder, pathname, search })
  }
}

function gitEnvironment(folder: string): NodeJS.ProcessEnv {
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'Ada'],
    [`GIT_${role}_EMAIL`, 'ada@example.com'],
  ])
  return { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', ...Object.fromEntries(who) }
}

/** By git's own server, over CGI (RFC 3875). */
function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  { folder, pathname, search }: { folder: string; pathname: string; search: string },
): void {
  const { headers, method } = request
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...gitEnvironment(folder),
      ...{ GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: pathname, QUERY_STRING: search.slice(1) },
      ...{ REQUEST_METHOD: method, REMOTE_USER: 'ada', CONTENT_TYPE: headers['content-type'] ?? '' },
      ...(headers['content-length'] !== undefined && { CONTENT_LENGTH: headers['content-length'] }),
      ...(headers['content-encoding'] !== undefined && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
      ...(headers['git-protocol'] !== undefined && { GIT_PROTOCOL: String(headers['git-protocol']) }),
    },
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => undefined)
  void buffer(child.stdout).then((answer) => {
    const end = answer.indexOf('\r\n\r\n')
    const lines = answer.subarray(0, end).toString().split('\r\n')
    const given = Object.fromEntries(lines.map((line) => line.split(/: */, 2) as [string, string]))
    const { Status: status = '200', ...rest } = given
    response.writeHead(Number.parseInt(status, 10), rest).end(answer.subarray(end + 4))
  })
}

export interface ObjectStore {
  answer: RequestListener
  objects: Map<string, Buffer>
  /** Requests with a signature that AWS would refuse. */
  refused: string[]
}

/** S3 and STS in one region, for these keys: each request's signature is verified. */
export function objectStore(region: string, secretOf: (accessKeyId: string) => string | undefined): ObjectStore {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const refused: string[] = []
  const xml = (response: ServerResponse, body: string) =>
    response.writeHead(200, { 'content-type': 'text/xml' }).end(body)
  const etag = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`

  const serve = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const { method = '', url = '', headers } = request
    const service = (headers.host ?? '').startsWith('sts.') ? 'sts' : 's3'
    const all = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const server = {
      ...{ region: service === 's3' ? region : 'us-east-1', service, now: new Date() },
      secretOf: (id: string) => {
        const secretAccessKey = secretOf(id)
        return secretAccessKey === undefined ? undefined : { secretAccessKey }
      },
    }
    const verdict = verifyAws({ method, target: url, headers: all, body }, server)
    if ('refused' in verdict) {
      refused.push(`${method} ${headers.host ?? ''}${url}: ${verdict.refused}`)
      response.writeHead(403, { 'content-type': 'text/xml' })
      response.end(`<Error><Code>AccessDenied</Code><Message>${verdict.refused}</Message></Error>`)
      return
    }
    if (service === 'sts') {
      xml(
        response,
        `<GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/${verdict.accessKeyId}</Arn></GetCallerIdentityResult>`,
      )
      return
    }
    const { pathname: key, searchParams: query } = new URL(url, 'https://s3')
    const upload = query.get('uploadId')
    if (method === 'POST' && query.has('uploads')) {
      const id = `upload-${uploads.size + 1}`
      uploads.set(id, new Map())
      xml(response, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
    } else if (method === 'POST' && upload !== null) {
      const parts = [...(uploads.get(upload) ?? [])].sort(([one], [other]) => one - other)
      objects.set(key, Buffer.concat(parts.map(([, part]) => part)))
      xml(response, '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>')
    } else if (method === 'PUT') {
      const content = headers['content-encoding'] === 'aws-chunked' ? unchunked(body) : body
      if (upload === null) objects.set(key, content)
      else uploads.get(upload)?.set(Number(query.get('partNumber')), content)
      response.writeHead(200, { etag: etag(body) }).end()
    } else if (method === 'GET' || method === 'HEAD') sendObject(request, response, objects.get(key))
    else response.writeHead(objects.delete(key) ? 204 : 404).end()
  }
  const sendObject = ({ method, headers }: IncomingMessage, response: ServerResponse, bytes: Buffer | undefined) => {
    if (!bytes) {
      response.writeHead(404, { 'content-type': 'text/xml' }).end('<Error><Code>NoSuchKey</Code></Error>')
      return
    }
    const [range, from = '0', to = String(bytes.length - 1)] = /^bytes=(\d+)-(\d+)?$/.exec(headers.range ?? '') ?? []
    const part = bytes.subarray(Number(from), Number(to) + 1)
    const all = {
      ...{ 'content-length': part.length, 'accept-ranges': 'bytes', etag: '"whole"' },
      ...{ 'last-modified': new Date(0).toUTCString(), 'content-type': 'application/octet-stream' },
      ...(range !== undefined && {
        'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}`,
      }),
    }
    response.writeHead(range === undefined ? 200 : 206, all).end(method === 'HEAD' ? undefined : part)
  }
  return {
    ...{ objects, refused },
    answer: (request, response) => {
      void buffer(request).then((body) => {
        serve(request, response, body)
      })
    },
  }
}

/** Newer clients send an object in chunks, with a checksum behind them. */
function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ;) {
    const start = body.indexOf('\r\n', at) + 2
    const length = Number.parseInt(body.toString('latin1', at, start), 16)
    if (!(length > 0)) return Buffer.concat(chunks)
    chunks.push(body.subarray(start, start + length))
    at = start + length + 2
  }
}

/** registry.npmjs.org and an index of Python packages, with one package: `tiny`. */
export function registries(): RequestListener {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-registry-'))
  mkdirSync(join(folder, 'package'))
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }))
  const packed = execFileSync('tar', ['-czC', folder, 'package'])
  const wheel = execFileSync('python3', ['-c', writesWheel])
  const tarball = 'https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz'
  const dist = { tarball, integrity: `sha512-${createHash('sha512').update(packed).digest('base64')}` }
  const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } }
  const link = '<a href="/tiny-1.0.0-py3-none-any.whl">tiny-1.0.0-py3-none-any.whl</a>'
  return (request, response) => {
    void buffer(request).then(() => {
      const { method, url = '' } = request
      const { authorization = 'nothing' } = request.headers
      const isNpm = (request.headers['user-agent'] ?? '').startsWith('npm/')
      if (method === 'PUT') sendJson(response, 201, { ok: true, authorization })
      else if (url === '/-/whoami') sendJson(response, 200, { username: isNpm ? `ada with ${authorization}` : 'ada' })
      else if (url === '/tiny') sendJson(response, 200, { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions })
      else if (url === '/simple/tiny/') response.writeHead(200, { 'content-type': 'text/html' }).end(link)
      else if (url.endsWith('.tgz')) response.end(packed)
      else if (url.endsWith('.whl')) response.end(wheel)
      else sendJson(response, 404, { error: 'not found' })
    })
  }
}

const writesWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.stdout.buffer, 'w') as wheel:
    folder = 'tiny-1.0.0.dist-info/'
    wheel.writestr(folder + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0.0\\n')
    wheel.writestr(folder + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(folder + 'RECORD', '')`
