/** The SDK as it is published, in Deno. Says each step on a line of its own. */
/* global AbortSignal, Blob, Deno, FormData, TextDecoderStream */
const [sdk, baseUrl, token, grantId, api] = Deno.args
const { createAgentClient } = await import(sdk)
const fetch = createAgentClient({ baseUrl, token }).fetch(grantId)
const say = (step, value) => {
  console.log(JSON.stringify([step, value]))
}

const found = []
for (let url = `${api}/items`; url !== undefined;) {
  const answer = await fetch(url)
  found.push(...(await answer.json()).map(({ name }) => name))
  url = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
}
say('list', found)

const form = new FormData()
form.set('file', new Blob(['hello']), 'a.txt')
const uploaded = await fetch(`${api}/upload`, { method: 'POST', body: form })
say('upload', (await uploaded.json()).uploaded)

const { body } = await fetch(`${api}/stream`)
for await (const part of body.pipeThrough(new TextDecoderStream())) say('part', part.trim())

const moved = await fetch(`${api}/moved`)
say('moved', [moved.status, moved.url.slice(api.length), moved.redirected])

const hanging = fetch(`${api}/hang`, { signal: AbortSignal.timeout(1000) })
say(
  'hang',
  await hanging.then(
    () => 'answered',
    ({ name }) => name,
  ),
)

const refused = await fetch('https://elsewhere.example/')
say('refused', [refused.status, refused.headers.get('x-sallyport-error')])
const limited = await fetch(`${api}/limited`)
say('limited', [limited.status, limited.headers.get('retry-after')])
