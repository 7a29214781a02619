/** The environment of test processes, prepared once per run: databases to copy, a folder, programs. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from './browser.ts'
import { preparePostgresTemplate, prepareSqliteTemplate } from './database-templates.ts'
import { findMemory } from './memory.ts'
import { startPostgres } from './postgres-server.ts'
import { bringPrograms } from './programs.ts'
import { bringPython } from './python.ts'

export interface TestEnvironment {
  env: NodeJS.ProcessEnv
  /** Deleted at the end of the run. */
  folder: string
  end: () => Promise<void>
}

/** Starts a PostgreSQL server unless TEST_DATABASE_URL is set, and finds a browser if one of these files needs it. */
export async function prepareTests(files: readonly string[], say: (line: string) => void): Promise<TestEnvironment> {
  const postgres = process.env['TEST_DATABASE_URL'] ? undefined : await startPostgres()
  const url = process.env['TEST_DATABASE_URL'] ?? postgres?.url ?? ''
  say(`PostgreSQL for the tests: ${postgres ? `started on port ${new URL(url).port}` : 'TEST_DATABASE_URL'}`)
  const template = await preparePostgresTemplate(url)
  const folder = mkdtempSync(join(findMemory() ?? tmpdir(), 'sallyport-tests-'))
  const end = async () => {
    rmSync(folder, { recursive: true, force: true })
    await template.drop()
    await postgres?.stop()
  }
  try {
    // A PostgreSQL server that a test starts runs as another user, with its folder in here.
    chmodSync(folder, 0o711)
    const sqliteTemplate = join(folder, 'migrated.db')
    await prepareSqliteTemplate(sqliteTemplate)
    if (files.some((file) => file.includes('legacy-peer'))) await bringPython('cryptography')
    if (files.some((file) => file.includes('sdk-libraries'))) {
      for (const library of ['requests', 'httpx']) await bringPython(library)
    }
    const needsBrowser = files.some((file) => file.includes('e2e'))
    await bringPrograms(['curl', 'openssl', ...(needsBrowser ? ['chromium-headless-shell'] : [])])
    // Downloading a browser may take longer than a test's timeout. Without one, the tests that need it fail with the
    // reason.
    if (needsBrowser) await findBrowser({ isWhole: true }).catch(() => undefined)
    const env = {
      ...process.env,
      TEST_DATABASE_URL: url,
      TEST_DATABASE_TEMPLATE: template.name,
      TEST_SQLITE_TEMPLATE: sqliteTemplate,
      // Deletes what killed tests left behind, so that memory does not fill up.
      TMPDIR: folder,
      TEST_KEYS: join(folder, 'keys'),
      // All processes load the same modules.
      NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/compiled'),
    }
    return { env, folder, end }
  } catch (error) {
    await end()
    throw error
  }
}
