/**
 * Reads the certificate again when its files have changed, and when told to. A renewal replaces certificate and key one after
 * the other, so a change counts once it has stayed the same from one look to the next.
 */
import { statSync } from 'node:fs'
import type { Log } from '../operations/log.ts'
import type { TlsFiles } from './listener.ts'

export interface CertificateReloads {
  reload: (why: object) => void
  /** To be called from time to time. */
  reloadIfChanged: () => void
}

/** `read` returns whether there was anything to read, and throws if it is invalid: the old one then stays in use. */
export function createCertificateReloads(files: TlsFiles, log: Log, read: () => boolean): CertificateReloads {
  let inUse = stateOf(files)
  let seen = inUse
  const reload = (why: object) => {
    inUse = stateOf(files)
    try {
      log.info(why, read() ? 'certificate reloaded' : 'no certificate to reload')
    } catch (error) {
      log.error({ err: error }, 'the certificate could not be reloaded; the old one stays in use')
    }
  }
  return {
    reload,
    reloadIfChanged: () => {
      const now = stateOf(files)
      const isSettled = now === seen
      seen = now
      if (isSettled && now !== inUse) reload({ reason: 'its files have changed' })
    },
  }
}

/** Changes with the files, also if a link leads to others. */
function stateOf({ tlsCertFile, tlsKeyFile }: TlsFiles): string {
  return [tlsCertFile, tlsKeyFile]
    .map((file) => {
      const found = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false })
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : 'none'
    })
    .join(', ')
}
