/** The local users in /etc/passwd. A service user is a local one. */
import { readFileSync } from 'node:fs'

export interface SystemUser {
  name: string
  uid: number
  gid: number
}

export function findUser(name: string): SystemUser | undefined {
  return localUsers().find((user) => user.name === name)
}

export function userName(uid: number): string | undefined {
  return localUsers().find((user) => user.uid === uid)?.name
}

/** For messages. In quotes, because "belongs to nobody" would say something else. */
export function describeUser(uid: number): string {
  const name = userName(uid)
  return name === undefined ? `the user with id ${uid}` : `the user "${name}"`
}

/** passwd(5): name, password, user id, group id and more, separated by colons. */
function localUsers(): SystemUser[] {
  let text = ''
  try {
    text = readFileSync('/etc/passwd', 'utf8')
  } catch {
    // A container may have none.
  }
  return text.split('\n').flatMap((line) => {
    const [, name = '', uid, gid] = /^([^:]+):[^:]*:(\d+):(\d+):/.exec(line) ?? []
    return name === '' ? [] : [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}
