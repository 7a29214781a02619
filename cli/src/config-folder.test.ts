import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { configFolder, readPrivate, stagePrivate } from './config-folder.ts'

test("credentials are stored in each platform's standard folder", () => {
  const place = (platform: NodeJS.Platform, home: string, env: Record<string, string> = {}) =>
    configFolder({ platform, home, env })
  assert.equal(place('linux', '/home/ada'), '/home/ada/.config/sallyport')
  assert.equal(place('linux', '/home/ada', { XDG_CONFIG_HOME: '/etc/xdg' }), '/etc/xdg/sallyport')
  assert.equal(place('linux', '/home/ada', { XDG_CONFIG_HOME: 'relative' }), '/home/ada/.config/sallyport')
  assert.equal(place('freebsd', '/home/ada', { XDG_CONFIG_HOME: '' }), '/home/ada/.config/sallyport')
  assert.equal(place('darwin', '/Users/ada'), '/Users/ada/Library/Application Support/sallyport')
  const roaming = String.raw`C:\Users\ada\AppData\Roaming`
  assert.equal(place('win32', String.raw`C:\Users\ada`, { APPDATA: roaming }), String.raw`${roaming}\sallyport`)
  assert.equal(place('win32', String.raw`C:\Users\ada`), String.raw`${roaming}\sallyport`)
  assert.equal(place('darwin', '/Users/ada', { SALLYPORT_CONFIG_DIR: '/elsewhere' }), '/elsewhere')
  for (const home of ['', '.', 'home/ada']) {
    for (const platform of ['linux', 'darwin', 'win32'] as const) {
      assert.throws(() => place(platform, home), /no home directory/)
    }
    assert.equal(place('linux', home, { SALLYPORT_CONFIG_DIR: '/elsewhere' }), '/elsewhere')
  }
})

test('a file is replaced atomically, readable by its owner only, without leftovers', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-config-'))
  t.after(() => {
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'below', 'secret')
  stagePrivate(file).keep('one')
  const second = stagePrivate(file)
  assert.equal(readFileSync(file, 'utf8'), 'one')
  second.keep('two')
  stagePrivate(file).discard()
  assert.equal(readPrivate(file, 'linux'), 'two')
  assert.deepEqual(readdirSync(join(folder, 'below')), ['secret'])
  assert.deepEqual(
    [file, join(folder, 'below')].map((path) => (statSync(path).mode & 0o777).toString(8)),
    ['600', '700'],
  )
  assert.equal(readPrivate(join(folder, 'nothing'), 'linux'), undefined)
})
