import { readdirSync, statSync } from 'node:fs'

/**
 * Root's writes would follow a link that the folder's owner has put there, so they are made as that user. Except where that
 * user can't get in, as below systemd's /var/lib/private: while the service is stopped, nothing runs as that user.
 */
export function actAsOwnerOf(folder: string): void {
  const { uid, gid } = statSync(folder)
  if (process.geteuid?.() !== 0 || uid === 0) return
  process.setgroups?.([])
  process.setegid?.(gid)
  process.seteuid?.(uid)
  try {
    readdirSync(folder)
  } catch {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
}
