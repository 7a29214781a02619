/** The pages of the tests' authorization server, for a person in a browser: sign in with any name, allow or refuse. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'
import type { Interaction } from 'oidc-provider'

export function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>
  body { font: 18px/1.5 sans-serif; max-width: 28em; margin: 3em auto; padding: 0 1em }
  button, input { font: inherit; padding: .4em 1em; margin: .5em .5em .5em 0 }
</style>
<h1>${title}</h1>
${content}
</html>`
}

export function escapeHtml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Shows where a sign-in stands, and takes what the person answers there. */
export async function serveInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    const client = await provider.Client.find(String(interaction.params['client_id']))
    const clientName = client?.clientName ?? client?.clientId ?? 'An unknown client'
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    response.end(interaction.prompt.name === 'login' ? signInPage() : consentPage(clientName, interaction))
    return
  }
  const answers = new URLSearchParams(await text(request))
  if (answers.get('decision') === 'refuse') {
    const result = { error: 'access_denied', error_description: 'the person refused' }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  } else if (interaction.prompt.name === 'login') {
    const result = { login: { accountId: answers.get('account') || 'someone' } }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  } else {
    const result = { consent: { grantId: await saveGrant(provider, interaction) } }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
  }
}

function signInPage(): string {
  return page(
    'Sign in',
    `<p>Any name will do.</p>
<form method="post">
<label>Name <input name="account" value="" required autofocus autocomplete="off"></label><br>
<button name="decision" value="sign-in">Sign in</button>
</form>`,
  )
}

function consentPage(clientName: string, { params, session }: Interaction): string {
  const scopes = (typeof params['scope'] === 'string' ? params['scope'] : '').split(' ')
  const items = scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('')
  return page(
    'Allow access?',
    `<p><b>${escapeHtml(clientName)}</b> wants to use the account of <b>${escapeHtml(session?.accountId ?? '')}</b>:</p>
<ul>${items}</ul>
<form method="post">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="refuse">Refuse</button>
</form>`,
  )
}

async function saveGrant(provider: Provider, { params, prompt, grantId, session }: Interaction): Promise<string> {
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const grant =
    known ??
    new provider.Grant({
      clientId: String(params['client_id']),
      ...(session?.accountId !== undefined && { accountId: session.accountId }),
    })
  const { missingOIDCScope: scopes, missingOIDCClaims: claims } = prompt.details as Record<string, string[] | undefined>
  if (scopes) grant.addOIDCScope(scopes.join(' '))
  if (claims) grant.addOIDCClaims(claims)
  return grant.save()
}

/** The pages of the device flow; the provider hands in the form, and the buttons stand outside it. */
export const devicePages = {
  enterCode: (form: string, problem?: string) =>
    page(
      problem ?? 'Connect a device',
      `<p>Enter the code that the device shows.</p>${form}
<button form="op.deviceInputForm">Continue</button>`,
    ),
  confirmCode: (form: string, clientName: string, userCode: string) =>
    page(
      'Is this your device?',
      `<p><b>${escapeHtml(clientName)}</b> shows the code <b>${escapeHtml(userCode)}</b>.</p>${form}
<button form="op.deviceConfirmForm">Continue</button>
<button form="op.deviceConfirmForm" name="abort" value="yes">Refuse</button>`,
    ),
  connected: () => page('Device connected', '<p>You can close this page.</p>'),
  refused: () => page('Device refused', '<p>You can close this page.</p>'),
}
