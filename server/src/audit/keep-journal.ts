import { setTimeout as sleep } from 'node:timers/promises'
import type { Http } from '../platform/http/http.ts'
import type { Log } from '../platform/log.ts'
import type { AuditLog } from './audit-store.ts'

interface JournalNeeds {
  audit: Pick<AuditLog, 'openJournal' | 'settle'>
  /** Several processes would each have to know what the others have in theirs. */
  isAlone: boolean
  log: Log
}

const minuteMs = 60_000
/** Another process may be writing for long; then what is there already is better than nothing. */
const patienceMs = 500

/** Calls may go on record in the journal from now on: whoever asks for anything finds them in the tables all the same. */
export async function keepJournal(http: Http, { audit, isAlone, log }: JournalNeeds): Promise<void> {
  const open = async () => {
    try {
      const strangePages = await audit.openJournal({ isKept: isAlone })
      const words =
        'the journal held what is not ours, or was not written to its end: it is in sallyport.db-calls-unread'
      if (strangePages > 0) log.warn({ pages: strangePages }, words)
    } catch (error) {
      log.warn({ err: error }, 'the journal can not be used; calls go on record without it, which takes longer')
    }
  }
  await open()
  // Another process may have it, such as the one that this one replaces.
  const again = setInterval(() => void open(), minuteMs).unref()
  http.addHook('onClose', (_http, done) => {
    clearInterval(again)
    done()
  })
  http.addHook('preHandler', async ({ routeOptions: { url = '' } }) => {
    // Who calls asks for nothing else.
    if (!url.startsWith('/v4/') || url === '/v4/proxy') return
    // Where the tables can't be written to, they may still be read.
    const settled = audit.settle().catch(() => undefined)
    await Promise.race([settled, sleep(patienceMs, undefined, { ref: false })])
  })
}
