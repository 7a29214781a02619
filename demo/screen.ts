import { link as linked, soft, strong } from './terminal.ts'

export interface Shown {
  baseUrl: string
  link: string
  mail: string
  api: string
  adminToken: string
  folder: string
}

/** The start screen of `npm start -- --demo`: what to click, and what to run in a second terminal. */
export function startScreen({ baseUrl, link, mail, api, adminToken, folder }: Shown): string {
  return `
  ${strong('Sallyport, the demo')}  ${soft('runs on this machine only, takes two minutes')}

  ${strong('1')}  Sign in. The link works once, within the hour.

     ${linked(link)}

  ${strong('2')}  Run the agent in a second terminal. It asks for access to your mail.

     ${strong('npm run demo:agent')}

  ${strong('3')}  Open the link it prints, or Home. Connect Acorn, a demo mail provider, as Ada or Grace; then approve.

  ${strong('4')}  Watch the agent work. Every call is recorded: ${linked(`${baseUrl}/activity`)}

  ${soft('Acorn mail')}   ${mail}/
  ${soft('Acorn API')}    ${api}/
  ${soft('Admin token')}  ${adminToken}
  ${soft('Data')}         ${folder}, deleted at every start

  Press Ctrl-C to stop everything.

`
}
