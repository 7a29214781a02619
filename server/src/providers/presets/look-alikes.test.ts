import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presets } from './catalogue.ts'
import { resemblesPreset } from './look-alikes.ts'

function refuses(id: string, ...names: string[]): void {
  for (const name of names) assert.equal(resemblesPreset(name)?.id, id, name)
}

function allows(...names: string[]): void {
  for (const name of names) assert.equal(resemblesPreset(name)?.id, undefined, name)
}

test('a preset’s slug, its name and its other names are taken', () => {
  for (const { id, name, otherNames = [] } of presets) refuses(id, id, name, name.toUpperCase(), ...otherNames)
})

test('case, separators and spaces do not make another name', () => {
  refuses('github', 'GITHUB', 'git-hub', 'Git Hub', 'g.i.t.h.u.b', 'git_hub', '-github-', 'G I T H U B')
  refuses('hubspot', 'Hub Spot', 'hub-spot-crm')
  refuses('salesforce', 'Sales Force')
})

test('digits and symbols for letters do not either', () => {
  refuses('github', 'g1thub', 'gith0b', 'GlTHUB', 'G!tHub', 'g|thub')
  refuses('google', 'g00gle', 'goog1e', 'Goog|e', '9oogle')
  refuses('linear', '1inear', 'L1near', 'Iinear')
  refuses('slack', '$lack', 'sl4ck', 's1ack')
  refuses('zoom', 'z00m', 'zoorn', 'zooom')
  refuses('dropbox', 'clropbox')
  refuses('atlassian', 'atiasslan', 'AtIasslan')
  refuses('discord', 'D!$c0rd')
  refuses('asana', '@$@na')
})

test('letters of other alphabets, accents, styles and invisible characters do not either', () => {
  refuses(
    'github',
    'gіthub',
    'ɡithub',
    'GΙTHUB',
    'ｇｉｔｈｕｂ',
    'gïthüb',
    'git\u200bhub',
    'g\u0335ithub',
    '𝐆𝐢𝐭𝐇𝐮𝐛',
    'ɢɪᴛʜᴜʙ',
  )
  refuses('google', 'gооgle', 'Gοοgle', 'goog\u00adle', 'Ԍoogle')
  refuses('slack', 'ѕӏасk', 'Ｓlack')
  refuses('notion', 'nоtiоn', 'ΝΟΤΙΟΝ')
  refuses('asana', 'аѕаnа')
  refuses('github', 'git\u200bhublogin', 'gïthublogin')
})

test('surrounding words do not either', () => {
  refuses(
    'github',
    'github-api',
    'GitHub (official)',
    'githublogin',
    'LoginWithGithub',
    'GitHub 2',
    'github2',
    'api-github-com',
  )
  refuses('google', 'Sign in with Google', 'google.com', 'Google Drive', 'accounts-google', 'mygoogle', 'googleapis')
  refuses('slack', 'My Slack', 'Slack for teams', 'slack-365', 'slack2026', 'Sla ck chat')
  refuses('zoom', 'zoom2', 'Zo-om meetings')
  refuses('microsoft', 'Microsoft Teams', 'Office365', 'outlook-mail')
  refuses('linear', 'Linear algebra')
})

test('one letter more, less, wrong or swapped does not either, in names of five letters or more', () => {
  refuses('github', 'githubb', 'gihub', 'gitub', 'gtihub', 'githug', 'githob login', 'Githubb issues')
  refuses('google', 'gogle', 'goolge', 'googel', 'Gogle Drive')
  refuses('microsoft', 'Mircosoft', 'Microsft Teams')
  refuses('asana', 'Asanas')
  refuses('slack', 'slak', 'Slackk', 'Stack')
  refuses('notion', 'Motion')
  refuses('trello', 'Trelo')
  refuses('bitbucket', 'Bitbuckett')
})

test('names that only share something with a preset’s are free', () => {
  allows(
    'Gitea',
    'Slackware forum',
    'Notional bank',
    'linearity',
    'Stack Overflow',
    'Black Duck',
    'Discourse',
    'Zoomer',
  )
  allows(
    'Acme',
    'acme-crm',
    'Mastodon',
    'Bitwarden',
    'Digital Archive',
    'Git server',
    'The Hub',
    'Motion pictures',
    'Box',
  )
  allows('Spotless', 'Hubble', 'Figment', 'Asahi', 'Dropbear', 'Soft micro', 'Яндекс', '微博', 'Airspace', 'Pager')
  allows('Email', 'Sigma', 'Black', 'Extra', 'Jirafe', 'Nations bank')
  allows('', '-', '12345', '!!!', 'api', 'login', 'my official app')
})

test('a very long or invalid name is handled', () => {
  refuses('github', `GitHub ${'x'.repeat(100_000)}`)
  allows('a'.repeat(100_000), 'login'.repeat(20_000), 'g '.repeat(50_000), '\u0000\ud800')
})

test('letters of rarer alphabets, their digits and emoji do not make another name', () => {
  refuses('google', 'Gⲟⲟgle', 'gⲟⲟgle drive', 'ꓖꓳꓳꓖꓡꓰ', 'ᏀᎾᎾᏀᏞᎬ', 'G๐๐gle', '🅶🅾🅾🅶🅻🅴', '🇬🇴🇴🇬🇱🇪', '🅖🅞🅞🅖🅛🅔')
  refuses('zoom', 'zⲟⲟm', 'zꮎꮎm', 'zဝဝm', 'z໐໐m', 'Zᴑᴑm', 'Ƶoom', 'ꮓoom')
  refuses('slack', 'ꓢꓲꓮꓚꓗ', 'Ⴝlack', 'ʂlack')
  refuses('discord', 'ԀISCОRD', 'Ԁiѕcoгd')
})

test('names in other alphabets stay free', () => {
  allows('Яндекс', 'Straße', 'Größe', 'ヤマト運輸', 'Ελλάδα', 'Łódź', 'नमस्ते', '東京 API', 'Смузи', 'שלום')
})
