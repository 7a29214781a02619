/**
 * nginx as the practical limit: one worker that takes the same call, adds a fixed header and passes on the upstream's
 * response. It parses no body, checks no credential and stores nothing.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../server/testkit/ports.ts'
import type { Callable, Outside } from './contenders.ts'
import type { Scope } from './processes.ts'

export function isNginxThere(): boolean {
  return spawnSync('nginx', ['-v']).status === 0
}

export async function startNginx(scope: Scope, { host, caFile }: Outside): Promise<Callable> {
  const port = await freePort()
  const folder = join(dirname(caFile), 'nginx')
  mkdirSync(folder)
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, settings(folder, port, host, caFile))
  const child = spawn('nginx', ['-c', file, '-p', folder, '-e', join(folder, 'error.log')], { stdio: 'inherit' })
  const exit = once(child, 'exit')
  scope.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  for (let attempt = 0; !(await answers(port)); attempt++) {
    if (attempt === 100) throw new Error('nginx did not start')
    await sleep(50)
  }
  const caller = { token: 'nobody', body: JSON.stringify({ method: 'GET', url: `https://${host}/enveloped` }) }
  return { name: 'nginx', port, pid: child.pid ?? 0, calls: () => [caller] }
}

async function answers(port: number): Promise<boolean> {
  const url = `http://127.0.0.1:${port}/v4/proxy`
  return fetch(url, { method: 'POST' }).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** A single process, so that its CPU time is the total. */
function settings(folder: string, port: number, host: string, caFile: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n      ')}
      upstream api { server ${host}; keepalive 64; keepalive_requests 100000000; }
      server {
        listen 127.0.0.1:${port};
        keepalive_requests 100000000;
        location = /v4/proxy {
          proxy_pass https://api/enveloped;
          proxy_method GET;
          proxy_pass_request_body off;
          proxy_http_version 1.1;
          proxy_set_header Host ${host};
          proxy_set_header Connection "";
          proxy_set_header Content-Length "";
          proxy_set_header Authorization "Bearer ${'t'.repeat(40)}";
          proxy_ssl_verify on;
          proxy_ssl_name localhost;
          proxy_ssl_trusted_certificate ${caFile};
        }
      }
    }`
}
