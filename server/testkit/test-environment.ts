/** The environment of test processes, prepared once per run: databases to copy, a folder, programs. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser, hasBrowser } from './browser.ts'
import { preparePostgresTemplate, prepareSqliteTemplate } from './database-templates.ts'
import { findMemory } from './memory.ts'
import { startPostgres } from './postgres-server.ts'
import { findProgram, installOnDebian } from './programs.ts'
import { findPython } from './python.ts'

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
    const needsBrowser = files.some((file) => file.includes('e2e'))
    await installOnDebian(await missingPackages(files, needsBrowser))
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

const tools = 'e2e/tools.test'
const isLong = process.env['TEST_LONG_FORM'] === '1'
/** Where the package has another name. */
const programOf: Record<string, string> = { awscli: 'aws', 'golang-go': 'go', 'default-jdk-headless': 'javac' }

/** Of Debian. A test whose program is still missing after they were installed fails, or is skipped, with the reason. */
async function missingPackages(files: readonly string[], needsBrowser: boolean): Promise<string[]> {
  const browsers = ['chromium-headless-shell', ...(hasBrowser() ? [] : ['chromium'])]
  const ofTools = ['wget', 'git', 'awscli', ...(isLong ? ['gh', 'golang-go', 'default-jdk-headless'] : [])]
  const hasFile = (name: string) => files.some((file) => file.includes(name))
  const libraries = [
    ...(hasFile('legacy-peer') ? [['cryptography']] : []),
    ...(hasFile('sdk-libraries') || hasFile(tools) ? [['requests', 'httpx']] : []),
    ...(hasFile(tools) ? [['pip'], ...(isLong ? [['websocket']] : [])] : []),
  ]
  const programs = ['curl', 'openssl', ...(needsBrowser ? browsers : []), ...(hasFile(tools) ? ofTools : [])]
  const missing = programs.filter((name) => findProgram([programOf[name] ?? name]) === undefined)
  // One Python must have all of a group: apt-get installs for Debian's Python only.
  for (const group of libraries) {
    if ((await findPython(group.join(', '))) === undefined) missing.push(...group.map((name) => `python3-${name}`))
  }
  return missing
}
