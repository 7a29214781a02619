import { createHash } from 'node:crypto'
import { verifyReceipt } from '@sallyport/sdk'
import type { Receipt } from '@sallyport/sdk'
import { asAgent } from '../clients.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { usageError } from '../failures.ts'
import { parseJson, readInput } from '../input-files.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'

export const receiptShow = command({
  name: 'receipt show',
  group: 'agent',
  summary: 'print the receipt that proves a person approved a grant',
  operands: [{ name: 'grant_id', summary: 'from: sallyport grants' }],
  examples: [['sallyport receipt show grt_01k9x3v7qmf5v8t2w4y6z8abcd > receipt.json', 'save it to a file']],
  run: async (shell, _options, [id = '']) => {
    shell.output.json(await asAgent(shell).receipt(id, { signal: shell.interrupted }))
    return undefined
  },
})

export const receiptVerify = command({
  name: 'receipt verify',
  group: 'agent',
  summary: 'verify a receipt without trusting the service',
  about: `Checks that the key in the receipt signed this approval, and that the grant is not wider than what was signed.
To check that the key belongs to the person, pass their key with --key. Works offline.`,
  operands: [{ name: 'file', summary: 'receipt as JSON; - for standard input' }],
  options: {
    key: {
      type: 'text',
      value: 'KEY',
      summary: "the person's key: a thumbprint (RFC 7638, SHA-256) or a JWK file",
    },
  },
  examples: [
    ['sallyport receipt verify receipt.json', 'show what was signed, and with which key'],
    ['sallyport receipt show grt_… | sallyport receipt verify - --key phone.jwk', 'require this key'],
  ],
  run: async (shell, { key }, [file = '']) => {
    const { output } = shell
    const receipt = parseJson((await readInput(shell, file, '<file>')).toString('utf8'), '<file>') as Receipt
    const expected = key === undefined ? undefined : await thumbprintGiven(shell, key)
    const check = await verifyReceipt(receipt)
    const signer = check.verdict === 'signed' ? thumbprint(receipt.device?.public_key_jwk) : undefined
    const isExpected = expected === undefined || signer === expected
    const verdict = check.verdict === 'signed' && !isExpected ? 'wrong_key' : check.verdict
    const problem = verdict === 'wrong_key' ? 'it was signed with a different key' : check.problem
    const left = check.verdict === 'signed' ? receipt.unsigned : []
    if (shell.json) {
      output.json({
        verdict,
        covers: check.covers,
        unsigned: left,
        key: signer ?? null,
        key_known: expected !== undefined && isExpected,
        problem: problem ?? null,
      })
    } else {
      const { style } = output
      const shown = {
        signed: style('green', 'signed'),
        unsigned: style('yellow', 'unsigned: nothing in it can be verified'),
        invalid: style('red', `invalid: ${inLine(problem ?? '')}`),
        wrong_key: style('red', `wrong key: ${inLine(problem ?? '')}`),
      }
      output.line(`Receipt    ${shown[verdict]}`)
      if (signer !== undefined) {
        output.line(`Key        ${signer}${expected === undefined ? '  (check that this key is the person’s)' : ''}`)
        output.line(`Covers     ${check.covers.join(', ') || 'only the approval itself'}`)
        if (left.length > 0) output.line(`Uncovered  ${left.map(inLine).join(', ')}`)
      }
    }
    return verdict === 'signed' ? exitCodes.done : exitCodes.unverified
  },
})

async function thumbprintGiven(shell: Shell, key: string): Promise<string> {
  if (/^[A-Za-z0-9_-]{43}$/.test(key)) return key
  const found = thumbprint(parseJson((await readInput(shell, key, '--key')).toString('utf8'), '--key'))
  if (found === undefined) throw usageError('--key: not a P-256 key in JWK format')
  return found
}

/** RFC 7638. */
function thumbprint(jwk: unknown): string | undefined {
  const { kty, crv, x, y } = (jwk ?? {}) as Record<string, unknown>
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string') return undefined
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}
