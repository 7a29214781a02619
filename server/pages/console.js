/**
 * The page behind the sign-in link. It keeps no token: the link's is taken out of the address at once and held until
 * the click, the session's is in a cookie that no script can read. What the service or a link says becomes text,
 * never markup.
 */

const main = document.querySelector('main')
const message = document.querySelector('#message')

class Problem extends Error {
  constructor(code, text, requestId) {
    super(text)
    this.code = code
    this.requestId = requestId
  }
}

const unreachable = () =>
  new Problem('unreachable', 'No answer from the service. Check that it runs and that you are connected.')

async function call(method, path, body) {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(path, { method, ...json }).catch(() => {
    throw unreachable()
  })
  const answer = await response.json().catch(() => undefined)
  if (response.ok && answer) return answer
  if (response.ok) throw unreachable()
  const { code, message: text, request_id: requestId } = answer?.error ?? {}
  throw new Problem(code, text ?? `The service answered with status ${response.status}.`, requestId)
}

// ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function say(text, { kind = 'notice', requestId } = {}) {
  message.dataset.kind = kind
  message.textContent = requestId ? `${text} (${requestId})` : text
}

/** A copy of a template. Places whose text or time is missing go. */
function fill(name, values, acts) {
  const copy = document.querySelector(`template#${name}`).content.cloneNode(true)
  for (const place of copy.querySelectorAll('[data-text]')) {
    const text = values[place.dataset.text]
    if (text) place.textContent = text
    else place.remove()
  }
  for (const place of copy.querySelectorAll('[data-time]')) {
    const time = values[place.dataset.time]
    place.dateTime = time
    place.textContent = dates.format(new Date(time))
  }
  for (const button of copy.querySelectorAll('[data-act]')) {
    const act = acts[button.dataset.act]
    if (act) onClick(button, act)
    else button.remove()
  }
  return copy
}

function show(name, values, acts = {}) {
  say('')
  main.replaceChildren(fill(name, values, acts))
  const heading = main.querySelector('h1')
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
  scrollTo(0, 0)
  document.title = `${heading.textContent} · Sallyport`
}

/** One click at a time. The second of a double click may fall on what the first one brought, and counts for nothing. */
function onClick(button, act) {
  let isBusy = false
  button.addEventListener('click', async (event) => {
    if (isBusy || event.detail > 1) return
    isBusy = true
    button.ariaBusy = 'true'
    say('')
    try {
      await act(button)
    } catch (problem) {
      complain(problem)
    } finally {
      isBusy = false
      button.ariaBusy = 'false'
    }
  })
}

function complain(problem) {
  if (problem.code === 'unauthenticated') signedOut({ heading: 'Your session has ended' })
  else say(problem.message, { kind: 'problem', requestId: problem.requestId })
}

/** What an address can say of a sign-in or a connection that did not work. A stranger can write any address. */
const results = {
  access_denied: 'Access was refused at the provider. Nothing was changed.',
  invalid_state: 'That attempt took too long, was used already, or began in another browser. Please start again.',
  invalid_response: 'The provider’s answer could not be trusted, so nothing was changed. Please start again.',
  not_invited: 'You have no invitation here. Ask whoever runs this service to invite your e‑mail address.',
  user_disabled: 'This user is disabled. Ask whoever runs this service.',
  provider_unavailable: 'The provider does not answer just now. Please try again in a while.',
  provider_error: 'The provider did not accept the request. Whoever runs this service can find out why.',
  provider_disabled: 'This provider is switched off here. Nothing was connected.',
  wrong_user: 'Somebody else began to connect that account. Nothing was connected.',
  wrong_account: 'That was another account than the one to be renewed. Nothing was connected.',
  token_refused: 'The provider gave no token. Please start again.',
  weak_token: 'The provider’s token is too short to be kept safe. Nothing was connected.',
}

function resultOf(error) {
  return Object.hasOwn(results, error) ? results[error] : 'That did not work. Please start again.'
}

// ── Where we are ─────────────────────────────────────────────────────────────────────────────────────────────────

let latest

/** Asks first, shows then; an answer that comes after the next question is not shown. */
async function go(ask) {
  const turn = Symbol('turn')
  latest = turn
  const view = await ask().catch((problem) => () => {
    trouble(problem, ask)
  })
  if (latest === turn) view()
}

function trouble(problem, ask) {
  const heading = problem.code === 'unreachable' ? 'The service can’t be reached' : 'That didn’t work'
  const request = problem.requestId && `Request ${problem.requestId}`
  show('trouble', { heading, lead: problem.message, request }, { again: () => go(ask) })
}

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
    const sessions = await allSessions()
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

async function allSessions() {
  const sessions = []
  let cursor = ''
  while (cursor !== null) {
    const page = await call('GET', `/v4/auth/sessions?status=active&limit=200${cursor && `&cursor=${cursor}`}`)
    sessions.push(...page.sessions)
    cursor = page.next_cursor
  }
  return sessions
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

function describe({ user_id: id, name, email }) {
  const who = name ?? email ?? id
  return { who, detail: email && email !== who ? email : id === who ? undefined : id }
}

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
  const waiting = isConnectWaiting() && 'Once you are signed in, your account will be connected.'
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
  const intention = new URLSearchParams({ redirect_after: '/?connect=waiting' })
  button.querySelector('a').href = isConnectWaiting() ? `${url}?${intention}` : url
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

/** What the address brought: a token, a result. From then on it stands in no address and no history. */
function takeFromAddress() {
  const query = new URLSearchParams(location.search)
  const token = new URLSearchParams(location.hash.slice(1)).get('login_token')
  const [error, connectionId] = [query.get('error'), query.get('connection_id')]
  query.delete('error')
  query.delete('connection_id')
  const rest = query.size > 0 ? `?${query}` : ''
  if (location.hash || location.search !== rest) history.replaceState(null, '', location.pathname + rest)
  return { token, error, connectionId }
}

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
