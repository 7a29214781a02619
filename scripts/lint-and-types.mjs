// Lints every file and checks its types. Both work on the same TypeScript programs: reading and checking the sources
// takes longer than all rules together, so it is done once. Arguments are the files to lint, all by default.
import { ESLint } from 'eslint'
import ts from 'typescript'
import { root } from './prepare.mjs'

const programs = ['tsconfig.json', 'web/tsconfig.json'].map(programOf)
const withPrograms = { files: ['**/*.ts', '**/*.tsx'], languageOptions: { parserOptions: { programs } } }
const eslint = new ESLint({ cwd: root, overrideConfig: withPrograms })
const results = await eslint.lintFiles(process.argv.length > 2 ? process.argv.slice(2) : '.')
const formatter = await eslint.loadFormatter('stylish')
const lint = await formatter.format(results)
const hasLint = results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)

const found = programs.flatMap((program) => ts.getPreEmitDiagnostics(program))
const diagnostics = ts.sortAndDeduplicateDiagnostics(found)
const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => '\n' }

process.stdout.write(lint + ts.formatDiagnostics(diagnostics, host))
if (hasLint || diagnostics.length > 0) process.exitCode = 1

function programOf(path) {
  const fail = (diagnostic) => {
    throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'))
  }
  const parsed = ts.getParsedCommandLineOfConfigFile(
    `${root}/${path}`,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  )
  return ts.createProgram({
    rootNames: parsed.fileNames,
    options: parsed.options,
    configFileParsingDiagnostics: parsed.errors,
  })
}
