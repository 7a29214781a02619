/** Finds source code that could open its own connection and so bypass the egress. */
import ts from 'typescript'

interface Source {
  /** From the repository's root. */
  path: string
  text: string
}

const egress = 'server/src/platform/egress/'

/** Packages that open connections, and the folder that may import them. Type imports count too. */
const homes: Record<string, string> = {
  undici: egress,
  pg: 'server/src/platform/database/',
  // They use the global fetch by default; that folder passes them the egress instead.
  'openid-client': 'server/src/platform/oauth/',
  oauth4webapi: 'server/src/platform/oauth/',
  // Only encrypts and signs; the message is sent through the egress.
  'web-push': 'server/src/platform/push/web-push.ts',
  // To the operator's SMTP server.
  nodemailer: 'server/src/platform/mail/mailer.ts',
  // For settings that come from the output of a command.
  'node:child_process': 'server/src/platform/config/settings.ts',
  // Starts the configured number of workers.
  'node:cluster': 'server/src/workers.ts',
  // Runs a small worker thread that only uses SQLite.
  'node:worker_threads': 'server/src/platform/database/checkpoints.ts',
}

/** Parts of Node's modules that only listen or parse. Everything else in them is for the egress. */
const harmless: Record<string, string[]> = {
  net: ['isIP', 'isIPv4', 'isIPv6', 'createServer', 'Server', 'BlockList'],
  http: ['createServer', 'Server', 'ServerResponse', 'STATUS_CODES', 'METHODS'],
  https: ['createServer', 'Server'],
  // `emit('connection')` hands their servers a connection that was accepted already.
  http2: ['createServer', 'constants'],
  tls: ['createServer', 'createSecureContext', 'rootCertificates'],
  ...{ dns: [], 'dns/promises': [], dgram: [], quic: [] },
  // Starts processes, or code that is not checked here.
  ...{ child_process: [], worker_threads: [], cluster: [], vm: [], module: [], inspector: [], repl: [] },
}

const globals = new Set(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'])

/** Ways to get a module or a global without an import. */
const backDoors = new Set(['globalThis', 'global', 'require', 'createRequire', 'getBuiltinModule', 'eval', 'Function'])
/** The same, but only as members of `process`: elsewhere they are ordinary names. */
const backDoorsOfProcess = new Set(['binding', '_linkedBinding', 'dlopen'])

export function waysOut({ path, text }: Source): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const what = nameOfWayOut(node, path)
    if (what !== undefined) found.push(`${path} uses ${what}`)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}

function nameOfWayOut(node: ts.Node, path: string): string | undefined {
  if (ts.isImportDeclaration(node)) return judgeImport(node.moduleSpecifier, path, importedNames(node.importClause))
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return judgeImport(node.moduleSpecifier, path, node.isTypeOnly ? [] : namesOf(node.exportClause))
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return judgeImport(node.arguments[0], path, ['*'])
  }
  if (path.startsWith(egress)) return undefined
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    return backDoors.has(node.argumentExpression.text) ? node.argumentExpression.text : undefined
  }
  if (!ts.isIdentifier(node)) return undefined
  const { parent } = node
  const isOfProcess = ts.isPropertyAccessExpression(parent) && parent.expression.getText() === 'process'
  if (backDoors.has(node.text) || (isOfProcess && backDoorsOfProcess.has(node.text))) return node.text
  return globals.has(node.text) && isReference(node) && !isDeclaredAround(node) ? `the global ${node.text}` : undefined
}

function judgeImport(specifier: ts.Expression | undefined, path: string, names: string[]): string | undefined {
  if (!specifier || !ts.isStringLiteralLike(specifier)) return 'an import that is computed'
  const [scope = '', name = ''] = specifier.text.split('/')
  const home = homes[scope.startsWith('@') ? `${scope}/${name}` : scope]
  if (home !== undefined) return path.startsWith(home) ? undefined : specifier.text
  const module = specifier.text.replace(/^node:/, '')
  // Node's internal modules (`_http_client`) open connections too.
  const allowed = module.startsWith('_') ? [] : harmless[module.replace(/^inspector\/.*$/, 'inspector')]
  if (!allowed || path.startsWith(egress)) return undefined
  const wrong = names.filter((one) => !allowed.includes(one))
  return wrong.length > 0 ? `${wrong.join(', ')} of ${specifier.text}` : undefined
}

/** The names imported as values; `*` for the whole module. */
function importedNames(clause: ts.ImportClause | undefined): string[] {
  if (!clause) return ['*']
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return []
  return [...(clause.name ? ['*'] : []), ...(clause.namedBindings ? namesOf(clause.namedBindings) : [])]
}

function namesOf(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): string[] {
  if (!bindings || (!ts.isNamedImports(bindings) && !ts.isNamedExports(bindings))) return ['*']
  const elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] = bindings.elements
  return elements.filter((one) => !one.isTypeOnly).map((one) => (one.propertyName ?? one.name).text)
}

/** False for names of members, as in `egress.fetch` or `{ fetch: … }`, and for types. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent)) return parent.getChildAt(0) === node
  if (ts.isBindingElement(parent)) return parent.initializer === node
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node
  const isMember = ts.isPropertySignature(parent) || ts.isMethodSignature(parent) || ts.isMethodDeclaration(parent)
  return !isMember && !ts.isTypeReferenceNode(parent) && !isDeclaration(parent, node)
}

function isDeclaration(parent: ts.Node, node: ts.Identifier): boolean {
  const names = ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isFunctionDeclaration(parent)
  return (names && parent.name === node) || ts.isImportSpecifier(parent)
}

/** True if the name is declared in the file: a parameter or a variable of an enclosing scope. */
function isDeclaredAround(node: ts.Identifier): boolean {
  const declares = (name: ts.BindingName | undefined): boolean => {
    if (!name) return false
    if (ts.isIdentifier(name)) return name.text === node.text
    return name.elements.some((one) => ts.isBindingElement(one) && declares(one.name))
  }
  for (let scope: ts.Node = node.parent; !ts.isSourceFile(scope); scope = scope.parent) {
    if (ts.isFunctionLike(scope) && scope.parameters.some((one) => declares(one.name))) return true
    if (!ts.isBlock(scope.parent) && !ts.isSourceFile(scope.parent)) continue
    for (const statement of scope.parent.statements) {
      if (ts.isFunctionDeclaration(statement) && declares(statement.name)) return true
      const isVariable = ts.isVariableStatement(statement)
      if (isVariable && statement.declarationList.declarations.some((one) => declares(one.name))) return true
    }
  }
  return false
}
