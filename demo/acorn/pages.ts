/** Acorn's pages: choose one of two accounts, allow or deny, enter a device code, and read the mailboxes. */
import { escapeHtml } from '../../server/testkit/oauth-pages.ts'
import type { OAuthPages } from '../../server/testkit/oauth-pages.ts'
import { mailScopes } from './mail-api.ts'
import type { Mailbox, Mailboxes, Message } from './mailboxes.ts'

/** The description of each scope, in display order; `openid` is not shown. */
const meanings: Record<string, string> = {
  ...mailScopes,
  email: 'See your name and e-mail address',
  offline_access: 'Stay connected while you are away',
}

export function acornPages(mailboxes: Mailboxes): OAuthPages {
  const leave = (title: string, text: string) => page(title, `<p class="soft">${text}</p>`)
  return {
    signIn: () =>
      page(
        'Choose an account',
        `<p class="soft">These are demo accounts without a password.</p>
<form method="post">${[...mailboxes].map(([id, box]) => accountButton(id, box)).join('')}</form>`,
      ),
    accountOf: (answer) => (mailboxes.has(answer) ? answer : undefined),
    consent: (clientName, account, scopes) => {
      const { name = account, email = '' } = mailboxes.get(account) ?? {}
      const items = Object.entries(meanings).filter(([scope]) => scopes.includes(scope))
      const others = [...mailboxes].filter(([id]) => id !== account)
      return page(
        `Let ${clientName} use your mail?`,
        `<p class="who">Signed in as <b>${escapeHtml(name)}</b><span>${escapeHtml(email)}</span></p>
<ul class="scopes">${items.map(([, meaning]) => `<li>${escapeHtml(meaning)}</li>`).join('')}</ul>
<form method="post">
<button class="main" name="decision" value="allow">Allow</button>
<button name="decision" value="refuse">Refuse</button>
${others.map(([id, other]) => `<button class="plain" name="account" value="${escapeHtml(id)}">Sign in as ${escapeHtml(other.name)} instead</button>`).join('')}
</form>`,
      )
    },
    enterCode: (form, isWrong) =>
      page(
        isWrong ? 'That code does not work' : 'Connect a device',
        `<p class="soft">Enter the code that ${isWrong ? 'is shown there; it may have expired' : 'the other screen shows'}.</p>
${labelled(form)}
<button class="main" form="op.deviceInputForm">Continue</button>`,
      ),
    confirmCode: (form, clientName, userCode) =>
      page(
        'Is this the code you see?',
        `<p class="soft">${escapeHtml(clientName)} should show the same code.</p>
<p class="code">${escapeHtml(userCode)}</p>
${form}
<button class="main" form="op.deviceConfirmForm">Yes, continue</button>
<button form="op.deviceConfirmForm" name="abort" value="yes">No, refuse</button>`,
      ),
    connected: () => leave('Connected', 'You can close this page and go back to where you came from.'),
    refused: () => leave('Refused', 'Nothing was connected. You can close this page.'),
    failed: (error, description) => leave('This did not work', escapeHtml(`${error}: ${description}`)),
  }
}

export function mailPage(mailboxes: Mailboxes): string {
  const boxes = [...mailboxes.values()].map(
    ({ name, email, inbox, sent }) => `<h2>${escapeHtml(name)} <span class="soft">${escapeHtml(email)}</span></h2>
<h3>Inbox</h3>${mailList(inbox, (message) => message.from)}
${sent.length === 0 ? '' : `<h3>Sent</h3>${mailList(sent, (message) => `To ${message.to}`)}`}`,
  )
  return page(
    'Mailboxes',
    `<p class="soft">Both of them, as they are now. What an agent sends or deletes shows here when you reload.</p>
${boxes.join('')}`,
    'wide',
  )
}

function mailList(messages: readonly Message[], whom: (message: Message) => string): string {
  if (messages.length === 0) return '<p class="soft">Empty.</p>'
  const items = messages.map(
    (message) => `<li><b>${escapeHtml(message.subject)}</b>
<span>${escapeHtml(whom(message))}</span>
<span>${escapeHtml(message.text)}</span></li>`,
  )
  return `<ul class="mail">${items.join('')}</ul>`
}

function accountButton(id: string, { name, email }: Mailbox): string {
  return `<button class="account" name="account" value="${escapeHtml(id)}">
<span class="face" aria-hidden="true">${escapeHtml(name.charAt(0))}</span>
<span class="who"><b>${escapeHtml(name)}</b><span>${escapeHtml(email)}</span></span>
</button>`
}

/** The provider's form has an inline script, which our CSP blocks, and no label for its field. */
function labelled(form: string): string {
  return form.replace(/ onfocus="[^"]*"/, ' aria-label="Code"').replace('</input>', '')
}

function page(title: string, content: string, width = ''): string {
  const shown = escapeHtml(title)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${shown} · Acorn</title>
<link rel="icon" href="/acorn.svg">
<link rel="stylesheet" href="/acorn.css">
</head>
<body>
<main class="${width}">
<p class="brand"><img src="/acorn.svg" alt=""> Acorn</p>
<h1>${shown}</h1>
${content}
</main>
<footer>Acorn is make-believe. It runs on your machine, as part of the Sallyport demo.</footer>
</body>
</html>`
}
