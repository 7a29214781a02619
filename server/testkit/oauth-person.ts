/** A simulated user in a browser: follows redirects with a cookie jar, fills in forms, and allows or denies. */
import type { fetch } from 'undici'

export interface Person {
  account: string
  allows: boolean
  userCode?: string
}

/** Where the redirects ended: at another site, which is not opened, or at a page without a form. */
export interface WalkEnd {
  sentTo?: string
  title: string
}

export async function walk(browse: typeof fetch, start: string, person: Person): Promise<WalkEnd> {
  const cookies = new Map<string, string>()
  const seen: string[] = []
  let url = new URL(start)
  let form: URLSearchParams | undefined
  for (let steps = 0; steps < 20; steps++) {
    const reply = await browse(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    keepCookies(cookies, reply.headers.getSetCookie())
    const html = await reply.text()
    const location = reply.headers.get('location')
    if (location !== null) {
      const next = new URL(location, url)
      if (next.origin !== url.origin) return { sentTo: next.href, title: '' }
      url = next
      form = undefined
      continue
    }
    const title = /<title>(.*?)<\/title>/.exec(html)?.[1] ?? ''
    const action = /<form[^>]*>/.exec(html)?.[0]
    if (reply.status !== 200) throw new Error(`the page answered ${reply.status}: ${html}`)
    if (action === undefined) return { title }
    if (seen.includes(title)) throw new Error(`the page came twice: ${title}`)
    seen.push(title)
    url = new URL(/action="([^"]*)"/.exec(action)?.[1] ?? url.href, url)
    form = fillIn(html, person)
  }
  throw new Error('the pages go round in a circle')
}

function fillIn(html: string, person: Person): URLSearchParams {
  const form = new URLSearchParams()
  const attribute = (tag: string, name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  for (const [tag] of html.matchAll(/<input[^>]*>/g)) {
    const name = attribute(tag, 'name')
    if (name === 'account') form.set(name, person.account)
    else if (name === 'user_code') form.set(name, person.userCode ?? attribute(tag, 'value'))
    else form.set(name, attribute(tag, 'value'))
  }
  const buttons = [...html.matchAll(/(<button[^>]*>)([^<]*)</g)].map(([, tag = '', label]) => ({ tag, label }))
  const button = (person.allows ? undefined : buttons.find(({ label }) => label === 'Refuse')) ?? buttons[0]
  if (button?.tag.includes('name=')) form.set(attribute(button.tag, 'name'), attribute(button.tag, 'value'))
  return form
}

function keepCookies(cookies: Map<string, string>, received: string[]): void {
  for (const line of received) {
    const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
  }
}
