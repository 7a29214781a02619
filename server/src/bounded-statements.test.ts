/**
 * No statement of the service reads or deletes as many rows as there happen to be: on SQLite it would block the event loop
 * for as long. Each has a limit, or is named here with what bounds it.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'

/** What bounds those without a limit. */
const bounded: Record<string, string> = {
  'access-requests/access-request-store.ts drop': 'the ids it is given, a batch',
  'access-requests/access-request-store.ts findWaiting': 'an agent has only so many pending requests',
  'access-requests/agent-name-store.ts drop': 'the one row of its primary key',
  'access-requests/access-request-store.ts listWaitingBetween': 'how many requests of an agent may wait',
  'agents/agent-store.ts findAll': 'the ids of a page',
  'agents/agent-store.ts findCurrent': 'the tokens it is given, of calls in flight or of a batch',
  'audit/audit-chain-store.ts countUnchained': 'counts in an index, once for each start of a process',
  'audit/audit-chain-store.ts listSigned': 'heads between the first and the last record of a batch',
  'audit/audit-chain-store.ts listStarts': 'one for each chain, found by jumps in an index',
  'audit/audit-chain-store.ts listStubs': 'one for each chain; only `audit verify` reads them',
  'audit/audit-chain-store.ts putStub': 'the records of a batch, and their heads',
  'call-log/audit-list-store.ts withFollowUps': 'the calls of a page',
  'audit/audit-chain-store.ts lastOfChains': 'one for each chain, found by jumps in an index',
  'audit/audit-chain-store.ts listOutside': 'the records of a range, which is limited',
  'call-log/call-series-store.ts read': 'reads from records that are limited',
  'callbacks/callback-store.ts dropOf': 'the ids it is given, a batch',
  'connections/former-token-store.ts dropOf': 'tokens of one connection',
  'devices/device-store.ts listDeciding': 'devices of one user',
  'devices/device-store.ts listLive': 'the ids of those who listen',
  'devices/pairing-code-store.ts dropUnused': 'pairing codes of one user',
  'devices/push-store.ts drop': 'one row by its key',
  'devices/push-store.ts dropOf': 'pushes of one access request',
  'devices/push-store.ts enqueue': 'devices of one user',
  'devices/push-store.ts forgetToken': 'pushes to one device',
  'gateway/authority-store.ts delete': 'one row by its key',
  'gateway/authority-store.ts listAuthorities': 'the current certificate and the one before or after it',
  'grants/grant-figures-store.ts grantFiguresOf': 'the active grants of a page of agents or users',
  'grants/grant-store.ts describe': 'the ids of a page',
  'grants/grant-store.ts apiHostsOf': 'the grants of the calls in flight',
  'grants/grant-store.ts findEnded': 'the grants of the calls in flight',
  'grants/grant-store.ts findChanged': 'the grants of the calls in flight',
  'grants/grant-store.ts listBetween': 'reads from the newest grants, which are limited',
  'grants/grant-store.ts lockOfUser': 'one row by its key',
  'grants/unused-agent-store.ts dropUnusedAgents': 'the ids it is given, a batch',
  'legacy-v1/client-store.ts dropUnseenBefore': 'the ids it is given, a batch',
  'legacy-v1/item-store.ts find': 'the ids of one request',
  'legacy-v1/service-key-store.ts dropRetiredBefore': 'one key for each rotation',
  'legacy-v1/service-key-store.ts list': 'one key for each rotation',
  'platform/database/database-clock.ts adjust': 'one row',
  'mail/subscription-store.ts drop': 'the one row of its primary key',
  'platform/database/migrate.ts addRunsFrom': 'one column of a catalogue',
  'platform/database/migrate.ts lockSchema': 'one row',
  'platform/database/migrate.ts requiredMigration': 'one row of all migrations, of which there are a few dozen',
  'platform/vault/rotate.ts beginRotation': 'data keys, of which there are a few',
  'platform/vault/rotate.ts dropUnusedMasterKeys': 'data keys, of which there are a few',
  'platform/vault/rotate.ts rotateKeys': 'data keys, of which there are a few',
  'platform/vault/vault.ts openDataKeys': 'data keys, of which there are a few',
  'providers/provider-store.ts dropIncomplete': 'a slug is of one provider',
  'providers/provider-store.ts namesOf': 'the ids of a page',
  'proxy/idempotency-store.ts forget': 'one row by its key',
  'proxy/idempotency-store.ts forgetDenied': 'the keys of one call',
  'proxy/idempotency-store.ts forgetHeld': 'the keys of one call',
  'proxy/idempotency-store.ts forgetRetries': 'the keys of one call',
  'sessions/session-store.ts lastSeen': 'the ids of a page',
  'sessions/session-store.ts listLive': 'the ids of those who listen',
  'sessions/login-token-store.ts dropUnused': 'login tokens of one user',
  'tool-keys/tool-key-store.ts dropOfAgent': 'the keys of one agent, which are limited',
  'tool-keys/tool-key-store.ts delete': 'the grants of one key',
  'tool-keys/tool-key-store.ts findCurrent': 'the keys it is given, of calls in flight',
  'tool-keys/tool-key-store.ts list': 'the keys of one agent, which are limited',
}

/** `file function` of each statement without a limit. */
function unlimitedIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const variables = new Map<string, ts.Expression>()
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      variables.set(node.name.text, node.initializer)
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression
      if (name.text === 'execute') {
        const words = wordsOf(expression)
        const isMany = ['selectFrom', 'deleteFrom', 'select', 'delete'].some((word) => words.includes(word))
        if (isMany && !words.includes('limit')) found.push(`${file} ${functionAround(node)}`)
      }
    }
    ts.forEachChild(node, visit)
  }
  /** The methods that a query was made with, also where its beginning is in a variable. */
  const wordsOf = (expression: ts.Expression): string[] => {
    if (ts.isCallExpression(expression)) return wordsOf(expression.expression)
    // Raw SQL, word for word.
    if (ts.isTaggedTemplateExpression(expression)) return expression.template.getText().split(/[^a-z]+/)
    if (ts.isParenthesizedExpression(expression)) return wordsOf(expression.expression)
    if (ts.isPropertyAccessExpression(expression)) return [expression.name.text, ...wordsOf(expression.expression)]
    if (!ts.isIdentifier(expression)) return []
    const known = variables.get(expression.text)
    return known && known !== expression ? wordsOf(known) : []
  }
  visit(source)
  return found
}

function functionAround(node: ts.Node): string {
  for (let at = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isPropertyAssignment(at) || ts.isFunctionDeclaration(at)) return at.name?.getText() ?? ''
    if (ts.isVariableDeclaration(at) && at.initializer && ts.isArrowFunction(at.initializer)) return at.name.getText()
  }
  return '(top)'
}

test('every statement that may affect many rows has a limit or is listed here', () => {
  const root = import.meta.dirname
  const sample = "const q = tx.selectFrom('a'); const all = () => q.where('b').execute()"
  assert.deepEqual(unlimitedIn('sample.ts', sample), ['sample.ts all'])
  assert.deepEqual(unlimitedIn('sample.ts', sample.replace('where(', 'limit(')), [])
  assert.deepEqual(unlimitedIn('sample.ts', 'function all() { return sql<Row>`select a from b`.execute(tx) }'), [
    'sample.ts all',
  ])
  assert.deepEqual(unlimitedIn('sample.ts', 'function some() { sql`select a from b limit ${some}`.execute(tx) }'), [])
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !/\.test\.ts$|^commands\/|migrations\//.test(file))
  const found = files.flatMap((file) => unlimitedIn(file, readFileSync(join(root, file), 'utf8')))
  assert.deepEqual([...new Set(found)].sort(), Object.keys(bounded).sort())
})
