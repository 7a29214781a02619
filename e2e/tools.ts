/**
 * The tools that `sallyport run` is tested with, as they come from their distributors. Of each: how it reads, how it tries a
 * host that no grant covers, and how it changes something. All are shell commands.
 */
export type Provider = 'acme' | 'packages' | 'github' | 'aws' | 'npm-registry'

export interface Tool {
  name: string
  /** A program that has to be installed. */
  needs?: string
  /** Costs more CPU than all the others together, or to install: only `npm run endurance -- --tools` runs it. */
  isDear?: true
  provider: Provider
  /** In the folder that it runs in. */
  files?: Record<string, string>
  env?: Record<string, string>
  /** Compiles it, before the run. */
  prepare?: string
  read: string
  /** What it then shows. */
  shows: RegExp
  /** The same for `closedHost`. */
  refused: string
  /** Undefined: it only reads. */
  write?: string
  /** The request of `write`, which may come once only. */
  wrote?: RegExp
  /** Prints what comes from here as it comes. */
  stream?: string
}

export const apiHost = 'api.acme.example'
export const closedHost = 'closed.acme.example'
export const region = 'eu-west-1'
export const bucketHost = `ada-bucket.s3.${region}.amazonaws.com`

/** It sends events. */
const eventsUrl = `https://${apiHost}/events`
/** An index of Python packages, for those with a credential. */
export const indexHost = 'packages.acme.example'

const redacted = /Bearer \[REDACTED\]/

interface Caller extends Partial<Tool> {
  /** Writes have the body `{"n":1}`. */
  call: (method: 'GET' | 'POST', url: string) => string
}

/** A tool for any API. */
function caller(name: string, { call, ...more }: Caller): Tool {
  const path = `/${slugOf(name)}`
  return {
    ...{ name, provider: 'acme', shows: redacted, wrote: new RegExp(`^POST ${path}$`) },
    read: call('GET', `https://${apiHost}${path}`),
    refused: call('GET', `https://${closedHost}${path}`),
    write: call('POST', `https://${apiHost}${path}`),
    ...more,
  }
}

function slugOf(name: string): string {
  return name.replaceAll(/\W+/g, '-')
}

/** `$PYTHON` has requests and httpx. */
function python(name: string, text: string, more?: Partial<Tool>): Tool {
  const file = `${slugOf(name)}.py`
  const body = `body = b'{"n":1}' if method == 'POST' else None`
  const files = { [file]: `import sys\nmethod, url = sys.argv[1:]\n${body}\n${text}` }
  return caller(name, { files, call: (method, url) => `$PYTHON ${file} ${method} ${url}`, ...more })
}

/** `load` gives the packages that this clone has. */
function node(name: string, text: string, more?: Partial<Tool>): Tool {
  const file = `${slugOf(name)}.mjs`
  const start = `
    import { createRequire } from 'node:module'
    const load = createRequire(process.env.CLONE)
    const [, , method, url] = process.argv
    const body = method === 'POST' ? '{"n":1}' : undefined`
  const files = { [file]: `${start}\n${text}` }
  return caller(name, { files, call: (method, url) => `node ${file} ${method} ${url}`, ...more })
}

const s3 = `--region ${region} --no-progress`
const commit = ['config user.name Ada', 'config user.email ada@example.com', 'commit -q --allow-empty -m More']

const go = `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	var body io.Reader
	if os.Args[1] == "POST" {
		body = strings.NewReader("{\\"n\\":1}")
	}
	request, _ := http.NewRequest(os.Args[1], os.Args[2], body)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.Proto, string(text))
}
`

const java = `import java.net.URI;
import java.net.http.*;

public class Call {
  public static void main(String[] args) throws Exception {
    var body = args[0].equals("POST") ? HttpRequest.BodyPublishers.ofString("{\\"n\\":1}") : HttpRequest.BodyPublishers.noBody();
    var request = HttpRequest.newBuilder(URI.create(args[1])).method(args[0], body).build();
    var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(response.version() + " " + response.body());
  }
}
`

/** Clients that print two messages, the second of which is an echo of `ping`, and close. */
export const webSocketClients: Pick<Tool, 'name' | 'files' | 'read' | 'isDear'>[] = [
  {
    name: 'Node',
    files: {
      'echo.mjs': `
        const socket = new WebSocket('wss://${apiHost}/echo')
        let left = 2
        socket.onopen = () => socket.send('ping')
        socket.onmessage = ({ data }) => {
          console.log(data)
          if (--left === 0) socket.close(1000, 'done')
        }
        socket.onclose = ({ code, reason }) => console.log('closed', code, reason)`,
    },
    read: 'node echo.mjs',
  },
  {
    name: 'Python websocket-client',
    isDear: true,
    files: {
      'echo.py': `
import struct, websocket
socket = websocket.create_connection('wss://${apiHost}/echo')
socket.send('ping')
print(socket.recv())
print(socket.recv())
socket.send_close(1000, b'done')
_, data = socket.recv_data()
print('closed', struct.unpack('!H', data[:2])[0], data[2:].decode())`,
    },
    read: '/usr/bin/python3 echo.py',
  },
]

export const tools: Tool[] = [
  caller('curl', {
    needs: 'curl',
    call: (method, url) => `curl -sS ${method === 'POST' ? `-d '{"n":1}' ` : ''}${url}`,
    stream: `curl -sSN ${eventsUrl}`,
  }),
  caller('wget', {
    needs: 'wget',
    call: (method, url) => `wget -nv -O - ${method === 'POST' ? `--post-data='{"n":1}' ` : ''}${url}`,
  }),
  {
    name: 'git',
    needs: 'git',
    provider: 'github',
    read: 'git clone -q https://github.com/ada/things.git && cat things/README',
    shows: /hello from upstream/,
    refused: `git clone https://${closedHost}/ada/others.git`,
    write: `${commit.map((words) => `git -C things ${words}`).join(' && ')} && git -C things push`,
    wrote: /^POST \/ada\/things\.git\/git-receive-pack$/,
  },
  {
    name: 'gh',
    needs: 'gh',
    isDear: true,
    provider: 'github',
    read: 'gh api user',
    shows: redacted,
    env: { GH_ENTERPRISE_TOKEN: 'of-another-server' },
    refused: `GH_HOST=${closedHost} gh api user`,
    write: 'gh api repos/ada/things/issues -f title=Hello',
    wrote: /^POST \/repos\/ada\/things\/issues$/,
  },
  {
    name: 'aws',
    needs: 'aws',
    isDear: true,
    provider: 'aws',
    files: { file: 'hello' },
    // It tries again what a proxy has refused.
    env: { AWS_MAX_ATTEMPTS: '1' },
    read: `aws s3 cp s3://ada-bucket/welcome - ${s3}`,
    shows: /hello from S3/,
    refused: `aws s3 ls s3://ada-bucket --region ${region} --endpoint-url https://${closedHost}`,
    write: `aws s3 cp file s3://ada-bucket/small ${s3}`,
    wrote: /^PUT \/small$/,
  },
  python(
    'Python urllib, strict',
    `
import ssl, urllib.request
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
print(urllib.request.urlopen(urllib.request.Request(url, body, method=method), context=context).read().decode())`,
  ),
  python(
    'Python requests',
    `
import requests
response = requests.request(method, url, data=body)
print(response.text)
response.raise_for_status()`,
  ),
  python(
    'Python httpx, strict',
    `
import httpx, ssl
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
with httpx.stream(method, url, content=body, verify=context, timeout=None) as response:
    for text in response.iter_text():
        print(text, flush=True)
    response.raise_for_status()`,
    { stream: `$PYTHON Python-httpx-strict.py GET ${eventsUrl}` },
  ),
  node(
    'Node fetch',
    `
    const response = await fetch(url, { method, body })
    for await (const chunk of response.body) process.stdout.write(chunk)`,
    { stream: `node Node-fetch.mjs GET ${eventsUrl}` },
  ),
  node(
    'Node https',
    `
    const { request } = load('node:https')
    request(url, { method }, (response) => response.pipe(process.stdout)).end(body)`,
    { isDear: true },
  ),
  node(
    'undici',
    `
    const { EnvHttpProxyAgent, request, setGlobalDispatcher } = load('undici')
    setGlobalDispatcher(new EnvHttpProxyAgent())
    console.log(await (await request(url, { method, body })).body.text())`,
  ),
  node('axios', `console.log(JSON.stringify((await load('axios')({ method, url, data: body })).data))`),
  {
    name: 'npm',
    needs: 'npm',
    provider: 'npm-registry',
    files: {
      '.npmrc': '//registry.npmjs.org/:_authToken=${NPM_TOKEN}\nupdate-notifier=false\nfetch-retries=0\n',
      'package.json': '{"name":"tiny","version":"1.0.1"}',
    },
    read: 'npm whoami',
    shows: redacted,
    refused: `npm view tiny --registry https://${closedHost}/`,
    write: 'npm publish --ignore-scripts',
    wrote: /^PUT \/tiny$/,
  },
  {
    name: 'pip',
    isDear: true,
    provider: 'packages',
    // Without the settings of this machine, and at once.
    env: { PIP_CONFIG_FILE: '/dev/null', PIP_RETRIES: '0', PIP_NO_CACHE_DIR: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
    read: `$PIP -m pip download tiny --no-deps --index-url https://${indexHost}/simple`,
    shows: /Successfully downloaded tiny/,
    refused: `$PIP -m pip download tiny --no-deps --index-url https://${closedHost}/simple`,
  },
  {
    ...caller('Go net/http', { call: (method, url) => `./call ${method} ${url}` }),
    files: { 'call.go': go },
    needs: 'go',
    isDear: true,
    prepare: 'go build -o call call.go',
  },
  {
    ...caller('Java HttpClient', { call: (method, url) => `java Call ${method} ${url}` }),
    files: { 'Call.java': java },
    needs: 'javac',
    isDear: true,
    prepare: 'javac Call.java',
  },
]
