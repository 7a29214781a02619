/** What a release is made of, as CycloneDX JSON: the packages in its bundles, with their hashes from the lockfile. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

interface Locked {
  version?: string
  integrity?: string
  license?: string
}

export const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>
}

/** The bundlers list the packages that they found used. Their headings: `## name 1.0.0 (MIT)`, `## name - 1.0.0 (MIT)`. */
const lists = ['server/dist/licenses.md', 'server/dist/pages/licenses.md', 'cli/dist/licenses.md']

export function billOfMaterials(version: string): string {
  const bundled = lists.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^## (\S+) (?:- )?(\d\S*) \((.+)\)$/gm)].map(
      ([, name = '', at = '']) => `${name}@${at}`,
    ),
  )
  const node = Object.keys(lockfile.packages).filter((path) => /node_modules\/node-linux-\w+$/.test(path))
  const names = [...new Set([...bundled, ...node.map((path) => nameOf(path))])].sort()
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `pkg:npm/sallyport@${version}`,
        name: 'sallyport',
        version,
        licenses: [{ expression: 'Apache-2.0' }],
      },
    },
    components: names.map(component),
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

function nameOf(path: string): string {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  return `${name}@${lockfile.packages[path]?.version ?? ''}`
}

function component(name: string): object {
  const locked = Object.entries(lockfile.packages).find(
    ([path]) => path.includes('node_modules/') && nameOf(path) === name,
  )?.[1]
  if (!locked) throw new Error(`${name} is in a bundle, but not in package-lock.json: build again`)
  const at = name.lastIndexOf('@')
  const purl = `pkg:npm/${name.slice(0, at).replace('@', '%40')}@${name.slice(at + 1)}`
  return {
    type: 'library',
    'bom-ref': purl,
    name: name.slice(0, at),
    version: locked.version,
    purl,
    ...(locked.license !== undefined && { licenses: [{ expression: locked.license }] }),
    ...(locked.integrity?.startsWith('sha512-') && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(locked.integrity.slice(7), 'base64').toString('hex') }],
    }),
  }
}
