import { isUnavailable } from '../platform/database/failures.ts'
import { DatabaseTooNew } from '../platform/database/migrate.ts'
import { SessionsShared } from '../platform/database/postgres-sessions.ts'
import { reasonOf } from '../platform/database/wait-for-database.ts'
import { ConfigError } from '../platform/config/settings.ts'
import { RotationRefused } from '../platform/vault/rotate.ts'
import { WrongMasterKey } from '../platform/vault/vault.ts'
import { CommandRefused } from './command-refused.ts'

/** The message for the operator when the service can't start: the cause and what to do, without a stack trace. */
export function errorText(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.map((problem) => `Setting: ${problem}`).join('\n')
  if (error instanceof CommandRefused || error instanceof RotationRefused || error instanceof DatabaseTooNew)
    return capital(error.message)
  if (error instanceof WrongMasterKey) {
    return `${capital(error.message)}. Set the key that was in use, or both during rotation (SALLYPORT_MASTER_KEY=new,old).`
  }
  if (error instanceof SessionsShared) {
    return `${capital(error.message)}. Connect to the database directly, or use session mode in the pooler (PgBouncer: pool_mode = session).`
  }
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    const { port } = error as { port?: number }
    return `Port ${port ?? ''} is in use. Stop the process that uses it, or change PORT, SALLYPORT_METRICS_PORT or SALLYPORT_GATEWAY_PORT.`
  }
  if (code === 'EACCES') return `Permission denied: ${message}.`
  // Invalid authorization, or no such database (PostgreSQL, appendix A).
  if (/^(?:28[0-9A-Z]{3}|3D000)$/.test(code ?? '')) return `PostgreSQL refused: ${message}. Check DATABASE_URL.`
  if (isUnavailable(error)) return `The database cannot be used: ${reasonOf(error)}.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
