/**
 * What the pages have in common. What the service, an agent or a link says becomes text, never markup; and a click
 * counts once.
 */

export const main = document.querySelector('main')
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

export async function call(method, path, body) {
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

/** Every record of a list, page after page. */
export async function listAll(path, name) {
  const records = []
  let cursor = ''
  while (cursor !== null) {
    const page = await call('GET', `${path}&limit=200${cursor && `&cursor=${cursor}`}`)
    records.push(...page[name])
    cursor = page.next_cursor
  }
  return records
}

// ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────

export const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

export function say(text, { kind = 'notice', requestId } = {}) {
  message.dataset.kind = kind
  message.textContent = requestId ? `${text} (${requestId})` : text
}

/** A copy of a template. A place whose text is missing goes, and so does a button with nothing to do. */
export function fill(name, values, acts) {
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

export function show(name, values, acts = {}) {
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

let showSignedOut

/** What a page shows where a click finds that the session has ended. */
export function whenSignedOut(view) {
  showSignedOut = view
}

function complain(problem) {
  if (problem.code === 'unauthenticated') showSignedOut({ heading: 'Your session has ended' })
  else say(problem.message, { kind: 'problem', requestId: problem.requestId })
}

export function describe({ user_id: id, name, email }) {
  const who = name ?? email ?? id
  return { who, detail: email && email !== who ? email : id === who ? undefined : id }
}

// ── How an address is read ───────────────────────────────────────────────────────────────────────────────────────

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

export function resultOf(error) {
  return Object.hasOwn(results, error) ? results[error] : 'That did not work. Please start again.'
}

/** What the address brought: a token, a result. From then on it stands in no address and no history. */
export function takeFromAddress() {
  const query = new URLSearchParams(location.search)
  const token = new URLSearchParams(location.hash.slice(1)).get('login_token')
  const [error, connectionId] = [query.get('error'), query.get('connection_id')]
  query.delete('error')
  query.delete('connection_id')
  const rest = query.size > 0 ? `?${query}` : ''
  if (location.hash || location.search !== rest) history.replaceState(null, '', location.pathname + rest)
  return { token, error, connectionId }
}

// ── Turns ────────────────────────────────────────────────────────────────────────────────────────────────────────

let latest

/** Asks first, shows then; an answer that comes after the next question is not shown. */
export async function go(ask) {
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
