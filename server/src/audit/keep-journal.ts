import type { Http } from '../platform/http/http.ts'
import type { Log } from '../platform/log.ts'
import type { AuditLog } from './audit-store.ts'

interface JournalNeeds {
  audit: Pick<AuditLog, 'openJournal' | 'settle'>
  /** Several processes would each have to know what the others have in theirs. */
  isAlone: boolean
  log: Log
}

/** Calls may go on record in the journal from now on: whoever asks for anything finds them in the tables all the same. */
export async function keepJournal(http: Http, { audit, isAlone, log }: JournalNeeds): Promise<void> {
  const strangePages = await audit.openJournal({ isKept: isAlone })
  if (strangePages > 0) {
    const words = 'the journal held what is not ours, or was not written to its end: it is in sallyport.db-calls-unread'
    log.warn({ pages: strangePages }, words)
  }
  http.addHook('preHandler', async ({ routeOptions }) => {
    // Who calls asks for nothing else.
    if (routeOptions.url === '/v4/proxy') return
    // Where the tables can't be written to, they may still be read.
    await audit.settle().catch(() => undefined)
  })
}
