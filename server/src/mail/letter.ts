/**
 * What a message says. Everything of an agent's is its name, shortened, in quotation marks on a line that is quoted, and
 * no mail program makes a link of it. The subject has nothing of an agent's.
 */
import { shortName } from '../devices/push-message.ts'

export interface News {
  /** Of each request: the agent's name, and what it is for if an administrator set that up. */
  requests: { id: string; agent: string; provider: string | undefined }[]
  /** Of each agent. */
  refusals: { agent: string; calls: number }[]
  /** There are more refusals than were counted. */
  isMore: boolean
}

const mostLines = 10

export function letterOf({ requests, refusals, isMore }: News, origin: string): { subject: string; text: string } {
  const refused = refusals.reduce((sum, { calls }) => sum + calls, 0)
  const subjects = [
    requests.length > 0 &&
      (requests.length === 1 ? 'A request waits for you' : `${requests.length} requests wait for you`),
    refused > 0 && `${isMore ? 'more than ' : ''}${refused === 1 ? '1 call was' : `${refused} calls were`} refused`,
  ]
  const asked = requests.map(
    ({ agent, provider }) => `${named(agent)} asks for access to ${provider ?? 'a provider that is not verified'}`,
  )
  const tried = refusals.map(({ agent, calls }) => `${named(agent)}: ${calls === 1 ? '1 call' : `${calls} calls`}`)
  const [only, ...others] = requests
  const page = only && others.length === 0 ? `/approve-proxy/${only.id}` : '/'
  const text = [
    ...(asked.length > 0
      ? ['Agents ask for access to your accounts:', '', ...quoted(asked), '', `Decide: ${origin}${page}`, '']
      : []),
    ...(tried.length > 0
      ? ['Calls of your agents were refused, as your grants do not allow them:', '', ...quoted(tried), '']
      : []),
    ...(tried.length > 0 ? [`See them: ${origin}/activity?kind=proxy.refused`, ''] : []),
    'Names of agents are their own and not verified.',
    `You get this because you turned on e-mail. Turn it off: ${origin}/account`,
    '',
  ]
  return { subject: `Sallyport: ${subjects.filter(Boolean).join(', ')}`, text: text.join('\n') }
}

function quoted(lines: readonly string[]): string[] {
  const shown = lines.slice(0, mostLines).map((line) => `> ${line}`)
  return lines.length > mostLines ? [...shown, `> and ${lines.length - mostLines} more`] : shown
}

function named(name: string): string {
  const oneLine = shortName(name.replaceAll(/[\p{C}\s]+/gu, ' '))
  return `“${oneLine.replaceAll(/[.:/@\\](?=\S)/g, '$& ')}” (not verified)`
}
