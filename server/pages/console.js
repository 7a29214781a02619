/**
 * The page behind the sign-in link. It keeps no token: the link's is taken out of the address at once and held until
 * the click, the session's is in a cookie that no script can read. What the service or a link says becomes text,
 * never markup.
 */
import {
  call,
  dates,
  describe,
  fill,
  go,
  listAll,
  main,
  resultOf,
  say,
  show,
  takeFromAddress,
  whenSignedOut,
} from './page.js'

// ── Where we are ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Those that are on, kept for when the session ends. Without them there is still the link. */
let providers = []

async function learnProviders() {
  const answer = await call('GET', '/v4/auth/providers').catch(() => undefined)
  if (answer) providers = answer.providers.filter(({ enabled }) => enabled)
}

async function home(ifSignedOut) {
  const learnt = learnProviders()
  try {
    const { user } = await call('GET', '/v4/auth/me')
    if (isConnectWaiting()) return goOnConnecting
    if (waitingRequest()) return goOnDeciding
    const sessions = await listAll('/v4/auth/sessions?status=active', 'sessions')
    await learnt
    return () => {
      signedIn(user, sessions)
    }
  } catch (problem) {
    if (problem.code !== 'unauthenticated') throw problem
    await learnt
    return () => {
      signedOut(ifSignedOut)
    }
  }
}

/** An account's consent came back while nobody was signed in here, and waits at the service. */
function isConnectWaiting() {
  return new URLSearchParams(location.search).get('connect') === 'waiting'
}

function goOnConnecting() {
  location.replace('/v4/oauth/resume')
}

/** Where somebody decides who had to sign in first. Only the id is taken: a stranger can write any address. */
function waitingRequest() {
  const id = new URLSearchParams(location.search).get('decide') ?? ''
  return /^arq_[0-9a-z]{26}$/.test(id) ? `/approve-proxy/${id}` : undefined
}

function goOnDeciding() {
  location.replace(waitingRequest())
}

async function link(token) {
  try {
    const { user, expires_at: until } = await call('POST', '/v4/auth/login/preview', { login_token: token })
    return () => {
      askToSignIn(token, user, until)
    }
  } catch (problem) {
    if (!isOver(problem)) throw problem
    return linkOver(problem)
  }
}

/** The service tells nobody whether a token is unknown, used, expired or malformed. */
function isOver({ code }) {
  return code === 'unauthenticated' || code === 'invalid_field'
}

/** Whoever opens a link for the second time is often signed in already. */
async function linkOver(problem) {
  const heading = 'This link no longer works'
  const view = await home({
    heading,
    lead: 'It was used already, or its time is over. Each link signs in once. For a new one:',
    request: problem.requestId && `Request ${problem.requestId}`,
  })
  return () => {
    view()
    if (main.querySelector('.sessions')) say(`${heading}: it was used already, or its time is over.`)
  }
}

// ── Views ────────────────────────────────────────────────────────────────────────────────────────────────────────

function askToSignIn(token, user, until) {
  const acts = {
    signIn: async () => {
      try {
        await call('POST', '/v4/auth/login', { login_token: token })
      } catch (problem) {
        if (!isOver(problem)) throw problem
        await go(() => linkOver(problem))
        return
      }
      await go(home)
    },
    notNow: () => go(home),
  }
  show('sign-in', { ...describe(user), until }, acts)
}

function signedOut({ heading = 'Sign in', lead, request } = {}) {
  const byLink = providers.length > 0 ? 'Or with a link that works once:' : 'You sign in with a link that works once.'
  const waiting =
    (isConnectWaiting() && 'Once you are signed in, your account will be connected.') ||
    (waitingRequest() && 'Once you are signed in, you are shown what the agent asks for.')
  show('signed-out', { heading, waiting, lead: lead ?? byLink, request })
  const buttons = main.querySelector('.providers')
  if (providers.length > 0) buttons.append(...providers.map(providerButton))
  else buttons.remove()
  const form = main.querySelector('form')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const input = form.elements.login_token
    const token = /sp_login_[0-9A-Za-z]+/.exec(input.value)?.[0]
    if (token) {
      void go(() => link(token))
      return
    }
    input.ariaInvalid = 'true'
    input.focus()
    main.querySelector('.problem').textContent = 'That is no login token. One begins with sp_login_.'
  })
}

function providerButton({ name, login_url: url }) {
  const button = fill('provider', { name })
  const then = isConnectWaiting() ? '/?connect=waiting' : waitingRequest()
  button.querySelector('a').href = then ? `${url}?${new URLSearchParams({ redirect_after: then })}` : url
  return button
}

function signedIn(user, sessions) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const acts = {
    signOut: async () => {
      await call('POST', '/v4/auth/logout')
      signedOut()
      say('You are signed out.')
    },
    signOutEverywhere: async () => {
      await call('POST', '/v4/auth/logout-all')
      signedOut()
      say('You are signed out everywhere.')
    },
    copy: navigator.clipboard && copyCommands,
  }
  show('signed-in', { ...describe(user), zone }, acts)
  main.querySelector('.sessions').append(...sessions.sort((a, b) => b.current - a.current).map(sessionRow))
  main.querySelector('pre').append(...sandboxLines(location.origin).map(commandLine))
}

function sessionRow(session) {
  const { session_id: id, created_at: since, last_seen_at: seen, current } = session
  const end = async (button) => {
    await call('DELETE', `/v4/auth/sessions/${id}`)
    button.closest('li').remove()
    main.querySelector('#sessions-heading').focus()
    say(`The session of ${dates.format(new Date(since))} has ended.`)
  }
  const row = fill('session', { since, seen }, { end: current ? undefined : end })
  if (!current) row.querySelector('.badge').remove()
  row.querySelector('button')?.setAttribute('aria-label', `End the session of ${dates.format(new Date(since))}`)
  return row
}

function commandLine(text) {
  const line = document.createElement('code')
  line.textContent = text
  return line
}

async function copyCommands() {
  try {
    await navigator.clipboard.writeText(`${sandboxLines(location.origin).join('\n')}\n`)
    say('Copied.')
  } catch {
    say('The browser did not let the page copy. Select the lines instead.', { kind: 'problem' })
  }
}

/** The same lines that the start of the service prints. */
function sandboxLines(base) {
  return [
    `url=${base} json='content-type: application/json'`,
    `token=$(curl -s $url/v4/agents/register -H "$json" -d '{"name":"first try"}' | grep -o 'sp_agent_[0-9A-Za-z]*')`,
    `grant=$(curl -s -X POST $url/v4/sandbox/start -H "authorization: Bearer $token" | grep -o -m1 'grt_[0-9a-z]*' | head -1)`,
    `curl -s $url/v4/proxy -H "authorization: Bearer $token" -H "$json" -d '{"grant_id":"'$grant'","method":"GET","url":"'$url'/v4/sandbox/echo"}'`,
  ]
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────

whenSignedOut(signedOut)

function start() {
  const { token, error, connectionId } = takeFromAddress()
  return go(async () => {
    const view = await (token ? link(token) : home())
    return () => {
      view()
      if (error !== null) say(resultOf(error), { kind: 'problem' })
      else if (connectionId !== null) say('The account is connected.')
    }
  })
}

/** A link pasted into the address bar of this very page changes the fragment alone. */
addEventListener('hashchange', () => {
  if (location.hash) void start()
})
void start()
