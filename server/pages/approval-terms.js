/** What an agent asks for, what a person can choose of it, and the sentence that sums it up. */
import { fill } from './page.js'

const lists = new Intl.ListFormat('en', { type: 'conjunction' })
const reading = ['GET', 'HEAD']
const isReading = (method) => reading.includes(method)

/** Somebody else's words within a sentence of ours. */
function theirs(text) {
  const place = document.createElement('bdi')
  place.className = 'theirs'
  place.textContent = text
  return place
}

function listOf(texts) {
  return lists.formatToParts(texts).map(({ type, value }) => (type === 'element' ? theirs(value) : value))
}

/** What is granted, in plain words. */
export function sentence(agent, account, { hosts, methods, paths, calls, lasting }) {
  const canRead = methods === null || methods.some(isReading)
  const canChange = methods === null || !methods.every(isReading)
  const doing = canRead && canChange ? 'read, change and delete' : canRead ? 'only read' : 'change and delete'
  return [
    ...[theirs(agent), ` may ${doing} (`, ...(methods ? listOf(methods) : ['any method']), ') at ', ...listOf(hosts)],
    ...(paths ? [', below ', ...listOf(paths)] : []),
    ...[', with the account ', theirs(account), ', ', lasting],
    calls === null ? '.' : `, ${calls} ${calls === 1 ? 'call' : 'calls'} at most.`,
  ]
}

export function labelOf({ account_label: label, connection_id: connectionId }) {
  return label ?? connectionId
}

/** What was asked for, row by row. */
export function wishes({ hosts, methods, paths, max_calls: calls }) {
  const rows = [
    ['Hosts', hosts, 'it named none'],
    ['Methods', methods, 'it named none'],
    ['Paths', paths, 'any'],
    ['Calls', calls && [String(calls)], 'any number'],
  ]
  return rows.map(([name, texts, none]) => {
    const row = document.createElement('p')
    row.append(`${name}: `, ...(texts ? listOf(texts) : [none]))
    return row
  })
}

export function choice(input, label, note) {
  const copy = fill('choice', { label, note })
  Object.assign(copy.querySelector('input'), input)
  return copy
}

/** What is chosen beforehand is no more than what was asked for by name. */
export function offer(form, { agent, hosts, api_hosts: apiHosts, methods, paths, max_calls: calls }, accounts) {
  const hostChoices = (hosts ?? apiHosts).map((value) => {
    const isWildcard = value.startsWith('*.')
    const checked = hosts !== null || !isWildcard
    return choice({ type: 'checkbox', name: 'host', value, checked }, value, isWildcard && 'every host below it')
  })
  const readable = methods?.filter(isReading) ?? reading
  const canNarrow = readable.length > 0 && readable.length !== methods?.length
  const radio = (name, value, checked) => ({ type: 'radio', name, value, checked })
  const methodChoices = [
    canNarrow && choice(radio('methods', readable.join(), methods === null), 'Only read', lists.format(readable)),
    methods
      ? choice(radio('methods', '', true), 'All that it asks for', lists.format(methods))
      : choice(radio('methods', '', false), 'Read, change and delete', 'any method'),
  ].filter(Boolean)
  const times = { 1: '1 hour', 24: '1 day', 720: '30 days', '': 'Until I revoke it' }
  const timeChoices = Object.entries(times).map(([hours, label]) =>
    choice(radio('hours', hours, hours === '24'), label),
  )
  form.querySelector('.hosts').append(...hostChoices)
  form.querySelector('.methods').append(...methodChoices)
  form.querySelector('.lasting').append(...timeChoices)
  Object.assign(form.elements.calls, { max: calls ?? 1_000_000_000, value: calls ?? '' })
  form.elements.calls.setAttribute('aria-describedby', 'max-calls-note')
  const sumUp = () => {
    const { missing, decision, hours } = choicesIn(form)
    const account = accounts.find(({ connection_id: one }) => one === decision.connection_id)
    const terms = {
      hosts: decision.allowed_hosts,
      methods: decision.allowed_methods ?? methods,
      paths,
      calls: decision.max_calls ?? calls,
      lasting: hours ? `for ${times[hours]} from now` : 'until you revoke it',
    }
    const text = missing ? [missing.text] : sentence(agent.name, labelOf(account), terms)
    form.querySelector('.summary').replaceChildren(...text)
  }
  form.addEventListener('input', sumUp)
  sumUp()
}

/** What the person chose, as the service takes it, or the first thing that is missing. */
export function choicesIn(form) {
  const chosen = new FormData(form)
  const [hours, methods, calls] = ['hours', 'methods', 'calls'].map((name) => chosen.get(name))
  const decision = {
    connection_id: chosen.get('account'),
    allowed_hosts: chosen.getAll('host'),
    ...(methods && { allowed_methods: methods.split(',') }),
    ...(calls && { max_calls: Number(calls) }),
    ...(hours && { expires_at: new Date(Date.now() + hours * 3_600_000).toISOString() }),
  }
  const missing =
    (!decision.connection_id && { name: 'account', text: 'Choose the account that the agent may use.' }) ||
    (decision.allowed_hosts.length === 0 && { name: 'host', text: 'Choose at least one host.' }) ||
    (!form.elements.calls.validity.valid && {
      name: 'calls',
      text: `The number of calls is a whole number from 1 to ${form.elements.calls.max}.`,
    })
  return { decision, hours, missing }
}
