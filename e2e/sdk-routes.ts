/** Finds the routes that an SDK client calls, by calling all its methods. */

/** Ids that can be recognised in paths. */
const id = 'an-id'

export interface Described {
  paths: Record<string, Record<string, { security?: Record<string, unknown>[] }>>
}

/** The routes that the reference lists for this kind of caller, such as `GET /v4/grants/{id}/receipt`. */
export function routesFor(actor: string, { paths }: Described): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security = [] }]) => security.some((scheme) => actor in scheme))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

/** The client is created with the given `fetch`, whose responses are empty. */
export async function routesOf(create: (fetch: typeof globalThis.fetch) => object): Promise<Set<string>> {
  const asked = new Set<string>()
  const refuse: typeof globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    asked.add(`${init?.method ?? 'GET'} ${pathname.replace(id, '{id}')}`)
    const error = { code: 'not_found', message: 'no', retryable: false, request_id: 'none' }
    return Response.json({ error }, { status: 404 })
  }
  await callAll(create(refuse))
  return asked
}

async function callAll(member: unknown): Promise<void> {
  if (typeof member === 'object' && member !== null) {
    for (const one of Object.values(member)) await callAll(one)
  }
  if (typeof member !== 'function') return
  try {
    const given: unknown = (member as (...values: unknown[]) => unknown)(id, {}, {})
    if (typeof given === 'function') await given('https://api.example/', {})
    else if (typeof given === 'object' && given !== null && 'page' in given) await (given.page as () => unknown)()
    else if (typeof given === 'object' && given !== null && 'next' in given) await (given.next as () => unknown)()
    else await given
  } catch {
    // Only the request matters here.
  }
}
