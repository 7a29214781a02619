import { link as linked, soft, strong } from './terminal.ts'

export interface Shown {
  baseUrl: string
  link: string
  mail: string
  adminToken: string
  folder: string
}

/** What a person sees after `npm start -- --demo`: what to click, and what to run in a second terminal. */
export function startScreen({ baseUrl, link, mail, adminToken, folder }: Shown): string {
  return `
  ${strong('Sallyport, the demo')}  ${soft('all of it on this machine, two minutes')}

  ${strong('1')}  Sign in. The link works once, within the hour.

     ${linked(link)}

  ${strong('2')}  Run the agent in a second terminal. It asks you for your mail.

     ${strong('npm run demo:agent')}

  ${strong('3')}  Open the link it prints, or Home. Connect Acorn, a make-believe provider, as Ada or Grace; then approve.

  ${strong('4')}  Watch the agent work. Every call is on record: ${linked(`${baseUrl}/activity`)}

  ${soft('Acorn mail')}   ${mail}/
  ${soft('Admin token')}  ${adminToken}
  ${soft('Kept in')}      ${folder}, made anew by every start

  Ctrl-C ends everything.

`
}
