/** The pages of an authorization server in a browser: sign in, allow or deny. The default ones are plain. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'
import type { Interaction } from 'oidc-provider'

/** The pages. All inputs are text, except the forms, which are the provider's own markup. */
export interface OAuthPages {
  signIn: () => string
  /** The account for a sign-in; undefined if it does not exist, so that the page is shown again. */
  accountOf: (answer: string) => string | undefined
  consent: (clientName: string, account: string, scopes: readonly string[]) => string
  /** The buttons are outside the forms `op.deviceInputForm` and `op.deviceConfirmForm`. */
  enterCode: (form: string, isWrong: boolean) => string
  confirmCode: (form: string, clientName: string, userCode: string) => string
  connected: () => string
  refused: () => string
  failed: (error: string, description: string) => string
}

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

/** Shows the current step of a sign-in, and handles its form. */
export async function serveInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  pages: OAuthPages = plainPages,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response)
  const show = async () => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    response.end(interaction.prompt.name === 'login' ? pages.signIn() : await consentPage(provider, interaction, pages))
  }
  if (request.method !== 'POST') return show()
  const answers = new URLSearchParams(await text(request))
  if (answers.get('decision') === 'refuse') {
    const result = { error: 'access_denied', error_description: 'the person refused' }
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }
  if (interaction.prompt.name === 'login' || answers.has('account')) {
    const accountId = pages.accountOf(answers.get('account') ?? '')
    if (accountId === undefined) return show()
    await becomeAnother(provider, interaction, accountId)
    return provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false })
  }
  const result = { consent: { grantId: await saveGrant(provider, interaction) } }
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

async function consentPage(
  provider: Provider,
  { params, session }: Interaction,
  { consent }: OAuthPages,
): Promise<string> {
  const client = await provider.Client.find(String(params['client_id']))
  const clientName = client?.clientName ?? client?.clientId ?? 'An unknown client'
  const scopes = typeof params['scope'] === 'string' ? params['scope'] : ''
  return consent(clientName, session?.accountId ?? '', scopes.split(' '))
}

/** Lets a signed-in user switch accounts. Without this the provider would first end the session on its own page. */
async function becomeAnother(provider: Provider, interaction: Interaction, accountId: string): Promise<void> {
  const session = interaction.session && (await provider.Session.findByUid(interaction.session.uid))
  if (!interaction.session || !session || session.accountId === accountId) return
  interaction.session.accountId = accountId
  session.accountId = accountId
  session.authorizations = {}
  await Promise.all([interaction.persist(), session.persist()])
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

export const plainPages: OAuthPages = {
  signIn: () =>
    page(
      'Sign in',
      `<p>Any name will do.</p>
<form method="post">
<label>Name <input name="account" value="" required autofocus autocomplete="off"></label><br>
<button name="decision" value="sign-in">Sign in</button>
</form>`,
    ),
  accountOf: (answer) => answer || 'someone',
  consent: (clientName, account, scopes) =>
    page(
      'Allow access?',
      `<p><b>${escapeHtml(clientName)}</b> wants to use the account of <b>${escapeHtml(account)}</b>:</p>
<ul>${scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('')}</ul>
<form method="post">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="refuse">Refuse</button>
</form>`,
    ),
  enterCode: (form, isWrong) =>
    page(
      isWrong ? 'That code does not work' : 'Connect a device',
      `<p>Enter the code that the device shows.</p>${form}
<button form="op.deviceInputForm">Continue</button>`,
    ),
  confirmCode: (form, clientName, userCode) =>
    page(
      'Is this your device?',
      `<p><b>${escapeHtml(clientName)}</b> shows the code <b>${escapeHtml(userCode)}</b>.</p>${form}
<button form="op.deviceConfirmForm">Continue</button>
<button form="op.deviceConfirmForm" name="abort" value="yes">Refuse</button>`,
    ),
  connected: () => page('Device connected', '<p>You can close this page.</p>'),
  refused: () => page('Device refused', '<p>You can close this page.</p>'),
  failed: (error, description) => page('This did not work', `<p>${escapeHtml(error)}: ${escapeHtml(description)}</p>`),
}
