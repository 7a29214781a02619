/** A call as the person who decides sees it. All of it but the labels is others' text. */
import type { PersonCall } from '@sallyport/sdk'
import type { Output } from './output.ts'
import { inLine, inLines } from './terminal-text.ts'
import { fromNow } from './times.ts'

export function showCall({ line, style }: Output, call: PersonCall): void {
  const { description, details, body, reason, repeat } = call
  const account = call.account_label === null ? '' : ` as ${inLine(call.account_label)}`
  line(`${style('bold', inLine(call.call_id))} is ${inLine(call.status)}`)
  line(`Agent     ${inLine(call.agent.name)} (name not verified)`)
  line(`Account   ${inLine(call.provider_name ?? '-')}${account}`)
  line(`Does      ${call.sentence === null ? "can't be summarised" : inLine(call.sentence)}`)
  line(`Access    ${style(call.access === 'destructive' ? 'red' : 'yellow', inLine(call.access))}`)
  line(`Request   ${inLine(description.method)} ${inLine(description.url)}`)
  for (const { name, value } of details) {
    const [first = '', ...others] = inLines(value).split('\n')
    line(`          ${inLine(name)}: ${first}`)
    for (const one of others) line(`            ${one}`)
  }
  for (const [name = '', value = ''] of description.headers) line(`Header    ${inLine(name)}: ${inLine(value)}`)
  if (reason !== null) line(`The agent says: ${inLine(reason)}`)
  if (body.kind !== 'none') {
    line(`Body      ${inLine(body.kind)}, ${description.body_length} bytes${body.is_cut ? ', cut' : ''}`)
    for (const one of inLines(body.text).split('\n')) line(`  | ${one}`)
  }
  line(`Digest    ${inLine(call.digest)}`)
  if (call.status === 'waiting') {
    line(`Expires   ${fromNow(call.expires_at, '')}`)
    line(`Repeats   ${repeat === null ? 'must be approved each time' : `can be allowed for: ${inLine(repeat.scope)}`}`)
  }
}
