// Collects the licences of the packages in a bundle, as those licences require.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const isLicense = (name) => /^(?:licen[cs]e|copying|notice)/i.test(name)

/** `metafile` is esbuild's; `more` names packages that it doesn't see, such as fonts. */
export function licenseTexts(metafile, more = []) {
  const inputs = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
  const named = more.map((name) => `node_modules/${name}`)
  const folders = [...new Set([...inputs, ...named])].filter((folder) => folder !== undefined)
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const files = readdirSync(join(root, folder)).filter(isLicense)
    const own = files.map((file) => `\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`)
    return `## ${name} ${version} (${license})\n${own.join('')}`
  })
  return `# Licences of the packages in this bundle\n\n${texts.sort().join('\n')}`
}
