// Writes self-contained type declarations of the SDK: the types of the protocol's schemas are written out as plain
// types, so that users do not have to install the schema library.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'

/** The files of the protocol that the SDK exports unchanged. */
const asTheyAre = ['protocol/src/verify-receipt.ts', 'protocol/src/verify-call-receipt.ts']

/** Writes `{folder}/types/sdk/index.d.ts` and the files it needs. */
export function writeTypes(root, folder) {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  )
  // Packages in node_modules count as external unless they are listed.
  const ownPaths = ['sdk/src/index.ts', ...asTheyAre].map((path) => join(root, path))
  const program = ts.createProgram(ownPaths, {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: root,
    outDir: root,
  })
  const checker = program.getTypeChecker()
  const written = new Map()
  const waiting = [join(root, 'sdk/src/index.ts')]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (written.has(path)) continue
    const source = program.getSourceFile(path)
    const isPlain = path.startsWith(join(root, 'protocol')) && !asTheyAre.includes(relative(root, path))
    const text = isPlain ? plainTypes(checker, source) : declarations(program, source)
    const { code, paths } = withRelativeImports(text, path)
    written.set(path, code)
    waiting.push(...paths)
  }
  for (const [path, code] of written) {
    const file = join(folder, 'types', publishedPath(path).replace(/\.ts$/, '.d.ts'))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
  }

  function publishedPath(path) {
    return relative(root, path).replace('/src/', '/')
  }

  function withRelativeImports(text, path) {
    const paths = []
    const code = text.replaceAll(/(from |import\()(['"])([^'"]+)\2/g, (_all, before, _quote, name) => {
      const target = name.startsWith('@sallyport/protocol/')
        ? join(root, 'protocol/src', `${name.slice('@sallyport/protocol/'.length)}.ts`)
        : resolve(dirname(path), name)
      if (!name.startsWith('.') && !name.startsWith('@sallyport/')) throw new Error(`${path} needs ${name}`)
      paths.push(target)
      const way = relative(dirname(publishedPath(path)), publishedPath(target)).replace(/\.ts$/, '.js')
      return `${before}'${way.startsWith('.') ? way : `./${way}`}'`
    })
    return { code, paths }
  }
}

function declarations(program, source) {
  let text = ''
  program.emit(source, (_name, content) => (text = content), undefined, true)
  return text
}

const { NoTruncation, InTypeAlias, MultilineObjectLiterals, UseSingleQuotesForStringLiteralType } = ts.NodeBuilderFlags
const plain = NoTruncation | InTypeAlias | MultilineObjectLiterals | UseSingleQuotesForStringLiteralType

/** Each type that the file exports, written out. */
function plainTypes(checker, source) {
  const printer = ts.createPrinter()
  const types = source.statements.filter((one) => ts.isTypeAliasDeclaration(one) && isExported(one))
  const lines = types.map((one) => {
    const type = checker.getTypeAtLocation(one.name)
    const node = checker.typeToTypeNode(type, undefined, plain)
    return `export type ${one.name.text} = ${printer.printNode(ts.EmitHint.Unspecified, node, source)};\n`
  })
  return lines.join('')
}

function isExported(statement) {
  return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}
