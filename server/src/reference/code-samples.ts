/** The same request in three languages, to paste and run. Credentials come from environment variables. */

interface Sample {
  method: string
  url: string
  /** Who may call, as named in the document's security schemes. */
  actor: string | undefined
  body: object | undefined
}

export interface CodeSample {
  lang: string
  label: string
  source: string
}

const variables: Readonly<Record<string, string>> = {
  agent: 'SALLYPORT_AGENT_TOKEN',
  tool: 'SALLYPORT_TOOL_KEY',
  user: 'SALLYPORT_SESSION_TOKEN',
  device: 'SALLYPORT_DEVICE_TOKEN',
  admin: 'SALLYPORT_ADMIN_TOKEN',
}

export function codeSamples(sample: Sample): CodeSample[] {
  return [
    { lang: 'shell', label: 'curl', source: curl(sample) },
    { lang: 'typescript', label: 'TypeScript', source: typescript(sample) },
    { lang: 'python', label: 'Python', source: python(sample) },
  ]
}

const variableOf = ({ actor }: Sample) => (actor === undefined ? undefined : variables[actor])

function curl(sample: Sample): string {
  const { method, url, body } = sample
  const variable = variableOf(sample)
  const parts = [
    `curl -s${method === 'GET' ? '' : ` -X ${method}`} '${url}'`,
    ...(variable ? [`-H "authorization: Bearer $${variable}"`] : []),
    ...(body ? ["-H 'content-type: application/json'", `-d '${JSON.stringify(body)}'`] : []),
  ]
  return parts.join(' \\\n  ')
}

function typescript(sample: Sample): string {
  const { method, url, body } = sample
  const variable = variableOf(sample)
  const headers = [
    ...(variable ? [`authorization: \`Bearer \${env.${variable}}\``] : []),
    ...(body ? ["'content-type': 'application/json'"] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(body ? [`body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')})`] : []),
  ]
  const more = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : ''
  const imports = variable ? "import { env } from 'node:process'\n\n" : ''
  return `${imports}const response = await fetch('${url}'${more})\nconsole.log(response.status, await response.text())\n`
}

function python(sample: Sample): string {
  const { method, url, body } = sample
  const variable = variableOf(sample)
  const headers = [
    ...(variable ? [`"authorization": f"Bearer {os.environ['${variable}']}"`] : []),
    ...(body ? ['"content-type": "application/json"'] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`method="${method}"`]),
    ...(headers.length > 0 ? [`headers={${headers.join(', ')}}`] : []),
    ...(body ? [`data=json.dumps(${literal(body)}).encode()`] : []),
  ]
  const modules = [...(body ? ['json'] : []), ...(variable ? ['os'] : []), 'urllib.request']
  return `import ${modules.join(', ')}

request = urllib.request.Request(${[`"${url}"`, ...options].map((option) => `\n    ${option},`).join('')}
)
with urllib.request.urlopen(request) as response:
    print(response.status, response.read().decode())
`
}

/** JSON, but for three words. */
function literal(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`)
    .join(', ')}}`
}
