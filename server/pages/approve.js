/**
 * Where a person decides on what an agent asks for (spec v4, Rules 1). The agent's words stand apart from ours. What
 * is allowed begins narrow and is summed up before it is granted; the service judges all of it anew.
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
import { choice, choicesIn, labelOf, offer, sentence, wishes } from './approval-terms.js'

const id = /^\/approve-proxy\/(arq_[0-9a-z]+)$/.exec(location.pathname)?.[1]
const brought = takeFromAddress()

// ── What there is to decide ──────────────────────────────────────────────────────────────────────────────────────

/** Who is here, and what became of the request; each is undefined where there is none. */
async function stateNow() {
  const user = await call('GET', '/v4/auth/me').then((me) => me.user, nothingFor('unauthenticated'))
  const request = user && id && (await call('GET', `/v4/access-requests/${id}`).catch(nothingFor('not_found')))
  return { user, request, key: keyOf(user, request) }
}

function keyOf(user, request) {
  return `${user?.user_id} ${request?.status}`
}

function nothingFor(code) {
  return (problem) => {
    if (problem.code !== code) throw problem
  }
}

/** The state that the view is of; undefined where it is not to be replaced by a later one. */
let shown

async function load() {
  const { user, request, key } = await stateNow()
  const isPending = request?.status === 'pending'
  const accounts = isPending ? await accountsFor(request) : []
  return () => {
    if (!user) signedOut()
    else if (!request) notFound(user)
    else if (isPending) pending(user, request, accounts)
    else settled(user, request)
    shown = key
  }
}

async function accountsFor({ provider }) {
  if (provider === null) return []
  const lists = ['active', 'needs_reauth'].map((status) => listAll(`/v4/connections?status=${status}`, 'connections'))
  return (await Promise.all(lists)).flat().filter((account) => account.provider === provider)
}

// ── Views ────────────────────────────────────────────────────────────────────────────────────────────────────────

function signedOut({ heading = 'Sign in to decide' } = {}) {
  show('signed-out', { heading })
  main.querySelector('a').href = id ? `/?decide=${id}` : '/'
  shown = keyOf()
}

function notFound(user) {
  const signOut = async () => {
    await call('POST', '/v4/auth/logout')
    signedOut()
  }
  show('not-found', describe(user), { signOut })
}

function settled(user, { status, decided_at: decidedAt, expires_at: expiresAt, approved_by: approvedBy, grant_id }) {
  const isMine = approvedBy === user.user_id
  const at = dates.format(new Date(decidedAt ?? expiresAt))
  const [heading, lead] = {
    approved: ['Already approved', isMine ? `You approved this request: ${at}.` : `Somebody else approved it: ${at}.`],
    denied: ['Already denied', `This request was denied: ${at}. Nothing was granted.`],
    expired: ['Too late', `Nobody answered this request in time: ${at}. Nothing was granted; the agent may ask again.`],
    cancelled: ['Taken back', `The agent took this request back: ${at}. Nothing was granted.`],
  }[status]
  show('settled', { heading, lead, revoke: `POST /v4/grants/${grant_id}/revoke` })
  if (!isMine) main.querySelector('.revoking').remove()
}

function granted(agent, grant) {
  shown = undefined
  show('granted', { revoke: `POST /v4/grants/${grant.grant_id}/revoke` })
  const terms = {
    hosts: grant.allowed_hosts,
    methods: grant.allowed_methods,
    paths: grant.allowed_paths,
    calls: grant.max_calls,
    lasting: grant.expires_at === null ? 'until you revoke it' : `until ${dates.format(new Date(grant.expires_at))}`,
  }
  main.querySelector('.summary').append(...sentence(agent.name, labelOf(grant), terms))
}

function pending(user, request, accounts) {
  const { agent, reason, verified, provider } = request
  const isOnDevice = user.require_device_approval
  const canApprove = !isOnDevice && accounts.some(({ status }) => status === 'active')
  const gone = provider === null && 'This provider was removed here: the request can only be denied.'
  const unknown = !verified && 'Nobody here answers for this provider: an agent proposed it, and chose its name.'
  const values = {
    ...describe(user),
    until: request.expires_at,
    agent: agent.name,
    registered: agent.registered_at,
    provider: request.provider_name || 'an unknown provider',
    warning: gone || unknown,
    reason,
    reasonNote: reason ? 'In the agent’s own words, which nobody has checked:' : 'It gave no reason.',
    callsNote: request.max_calls ? `It asks for ${request.max_calls}.` : 'Empty means as many as it likes.',
    device: isOnDevice && 'You approve on your devices only: open this request there. Denying works here, too.',
  }
  const decide = { approve: canApprove && deciding(() => approve(request)), deny: deciding(deny) }
  show('pending', values, decide)
  main.querySelector('.wish').append(...wishes(request))
  const form = main.querySelector('form')
  form.addEventListener('submit', (event) => event.preventDefault())
  if (isOnDevice || provider === null) form.querySelector('.accounts').remove()
  else form.querySelector('.accounts').append(...accountChoices(request, accounts))
  if (canApprove) offer(form, request, accounts)
  else form.querySelectorAll('.hosts, .methods, .lasting, .calls, .summary').forEach((part) => part.remove())
  guard()
}

function accountChoices({ provider }, accounts) {
  const active = accounts.filter(({ status }) => status === 'active')
  const row = (values, connection) => fill('reconnect', values, { connect: () => connect(provider, connection) })
  const others = accounts.filter((account) => !active.includes(account))
  return [
    ...active.map((account) => {
      const { connection_id: value, created_at: since } = account
      const checked = active.length === 1 || value === brought.connectionId
      const input = { type: 'radio', name: 'account', value, checked }
      return choice(input, labelOf(account), `connected ${dates.format(new Date(since))}`)
    }),
    ...others.map((account) => {
      const note = 'The provider no longer accepts it.'
      return row({ label: labelOf(account), note, action: 'Connect again' }, account.connection_id)
    }),
    accounts.length > 0
      ? row({ action: 'Connect another account' })
      : row({ note: 'You have connected none there yet.', action: 'Connect an account' }),
  ]
}

// ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function approve({ agent }) {
  const form = main.querySelector('form')
  const { decision, missing } = choicesIn(form)
  if (missing) {
    say(missing.text, { kind: 'problem' })
    form.querySelector(`[name=${missing.name}]`).focus()
    return
  }
  granted(agent, await call('POST', `/v4/access-requests/${id}/approve`, decision))
}

async function deny() {
  const { checked: block } = main.querySelector('[name=block]')
  await call('POST', `/v4/access-requests/${id}/deny`, { block })
  shown = undefined
  const lead = `Nothing was granted. You are not notified of this agent ${block ? 'again' : 'for a day'}.`
  show('settled', { heading: 'Denied', lead })
  main.querySelector('.revoking').remove()
}

/** Refusals after which the page is another one. */
const explanations = {
  request_not_pending: 'The request was decided meanwhile, or its time is over.',
  device_signature_required: 'You approve on your devices only: decide there.',
  connection_needs_reauth: 'The provider no longer accepts this account. Connect it again.',
}

let isDeciding = false
let isGuarded = true

function deciding(act) {
  return async () => {
    if (isGuarded || isDeciding) return
    isDeciding = true
    markButtons()
    try {
      await act()
    } catch (problem) {
      if (!Object.hasOwn(explanations, problem.code)) throw problem
      await go(load)
      say(explanations[problem.code], { kind: 'problem', requestId: problem.requestId })
    } finally {
      isDeciding = false
      markButtons()
    }
  }
}

/** Not by the attribute `disabled`, which would take the focus away. */
function markButtons() {
  for (const button of main.querySelectorAll('[data-decides]')) button.ariaDisabled = String(isGuarded || isDeciding)
}

const guardMs = 700
let guardTimer

/** Whoever is made to click fast on another page must not find these buttons under the next click. */
function guard() {
  isGuarded = true
  markButtons()
  clearTimeout(guardTimer)
  guardTimer = setTimeout(() => {
    isGuarded = false
    markButtons()
  }, guardMs)
}

async function connect(provider, connection) {
  const wish = { provider_slug: provider, connection_id: connection, redirect_after: `/approve-proxy/${id}` }
  const { authorization_url: url, warning } = await call('POST', '/v4/oauth/connect/start', wish)
  const goOn = () => {
    location.assign(url)
  }
  if (warning === null) goOn()
  else show('leaving', { warning, host: new URL(url).host }, { goOn, back: () => go(load) })
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Meanwhile somebody may have signed in or out, or decided on a phone. */
async function lookAgain() {
  guard()
  if (shown === undefined || isDeciding) return
  const { key } = await stateNow().catch(() => ({ key: shown }))
  if (shown !== undefined && key !== shown && !isDeciding) await go(load)
}

whenSignedOut(signedOut)
addEventListener('focus', lookAgain)
addEventListener('pageshow', guard)
document.addEventListener('visibilitychange', guard)
await go(load)
if (brought.error !== null) say(resultOf(brought.error), { kind: 'problem' })
else if (brought.connectionId !== null) say('The account is connected.')
