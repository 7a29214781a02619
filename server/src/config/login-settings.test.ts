import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { ConfigError } from '../platform/config/settings.ts'
import type { Environment } from '../platform/config/settings.ts'

const github = { SALLYPORT_GITHUB_CLIENT_ID: 'Iv1.0', SALLYPORT_GITHUB_CLIENT_SECRET: 'hush-hush' }
const oidc = {
  SALLYPORT_OIDC_ISSUER: 'https://login.example.com/realms/us',
  SALLYPORT_OIDC_CLIENT_ID: 'sallyport',
  SALLYPORT_OIDC_CLIENT_SECRET: 'hush-hush',
}

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
}

test('browser login is off until configured, and then by invitation only', () => {
  const { githubClientId, githubUrl, oidcIssuer, oidcName, signup } = readConfig({})
  assert.deepEqual([githubClientId, oidcIssuer, signup, oidcName], [undefined, undefined, 'invited', 'Single sign-on'])
  assert.equal(githubUrl.origin, 'https://github.com')
  assert.equal(readConfig({ SALLYPORT_SIGNUP: 'open' }).signup, 'open')
  assert.deepEqual(problemsOf({ ...github, ...oidc }), [])
})

test('an incomplete login configuration stops the start and names what is missing', () => {
  const { SALLYPORT_GITHUB_CLIENT_ID: githubId, SALLYPORT_GITHUB_CLIENT_SECRET: githubSecret } = github
  assert.deepEqual(problemsOf({ SALLYPORT_GITHUB_CLIENT_ID: githubId }), [
    'SALLYPORT_GITHUB_CLIENT_SECRET: not set; GitHub login requires it together with SALLYPORT_GITHUB_CLIENT_ID.',
  ])
  assert.deepEqual(problemsOf({ SALLYPORT_GITHUB_CLIENT_SECRET: githubSecret }), [
    'SALLYPORT_GITHUB_CLIENT_ID: not set; GitHub login requires it together with SALLYPORT_GITHUB_CLIENT_SECRET.',
  ])
  for (const name of Object.keys(oidc)) {
    const [problem, ...others] = problemsOf({ ...oidc, [name]: undefined })
    assert.ok(problem?.startsWith(`${name}: not set; OpenID Connect login requires it together with SALLYPORT_OIDC_`))
    assert.deepEqual(others, [])
  }
  assert.match(
    problemsOf({ SALLYPORT_OIDC_ISSUER: 'https://a.example' })[0] ?? '',
    /CLIENT_ID and SALLYPORT_OIDC_CLIENT_SEC/,
  )
})

test('issuer and GitHub URLs are https, without extra parts', () => {
  const wrong = [
    'http://a.example',
    'a.example',
    'https://me@a.example',
    'https://a.example/?q',
    'https://a.example/#f',
  ]
  for (const value of [...wrong, 'https://a.example/.well-known/openid-configuration']) {
    const [problem] = problemsOf({ ...oidc, SALLYPORT_OIDC_ISSUER: value })
    assert.equal(
      problem,
      `SALLYPORT_OIDC_ISSUER: got "${value}"; ` +
        'expected an https URL without a query or fragment, such as https://login.example.com/realms/us.',
    )
  }
  for (const value of [...wrong, 'https://a.example/path', '']) {
    assert.match(
      problemsOf({ SALLYPORT_GITHUB_URL: value })[0] ?? '',
      /^SALLYPORT_GITHUB_URL: got ".*"; expected an https URL/,
    )
  }
})

test('a client secret may come from a file or a command, and is never shown', () => {
  const config = readConfig({
    SALLYPORT_GITHUB_CLIENT_ID: 'Iv1.0',
    SALLYPORT_GITHUB_CLIENT_SECRET_COMMAND: 'echo hush-hush',
  })
  assert.equal(config.githubClientSecret.read()?.reveal(), 'hush-hush')
  assert.ok(!problemsOf({ SALLYPORT_OIDC_CLIENT_SECRET: 'hush-hush' }).join().includes('hush'))
  assert.match(
    problemsOf({ SALLYPORT_SIGNUP: 'closed' })[0] ?? '',
    /^SALLYPORT_SIGNUP: got "closed"; expected one of invited, open/,
  )
})
