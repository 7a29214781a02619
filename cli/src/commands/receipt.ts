import { createHash } from 'node:crypto'
import { verifyCallReceipt, verifyReceipt } from '@sallyport/sdk'
import type { CallReceipt, Receipt } from '@sallyport/sdk'
import { asAgent, asUser } from '../clients.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { usageError } from '../failures.ts'
import { parseJson, readInput } from '../input-files.ts'
import type { Shell } from '../shell.ts'
import { inLine } from '../terminal-text.ts'

export const receiptShow = command({
  name: 'receipt show',
  group: 'agent',
  summary: 'print the receipt that proves what a person decided',
  operands: [{ name: 'id', summary: 'a grant of this agent, or a call that you decided on as the signed-in user' }],
  examples: [
    ['sallyport receipt show grt_01k9x3v7qmf5v8t2w4y6z8abcd > receipt.json', 'of a grant: save it to a file'],
    ['sallyport receipt show cal_01k9x3v7qmf5v8t2w4y6z8abcd > receipt.json', 'of a call'],
  ],
  run: async (shell, _options, [id = '']) => {
    const options = { signal: shell.interrupted }
    const isCall = id.startsWith('cal_')
    shell.output.json(await (isCall ? asUser(shell).calls.receipt(id, options) : asAgent(shell).receipt(id, options)))
    return undefined
  },
})

export const receiptVerify = command({
  name: 'receipt verify',
  group: 'agent',
  summary: 'verify a receipt without trusting the service',
  about: `Checks that the key in the receipt signed this approval, and that the grant is not wider than what was signed. Of a
call: that it signed this decision on exactly the call in the receipt, which is printed.
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
    const receipt = parseJson((await readInput(shell, file, '<file>')).toString('utf8'), '<file>') as
      | Receipt
      | CallReceipt
    const expected = key === undefined ? undefined : await thumbprintGiven(shell, key)
    const { verdict: found, problem: defect, covered } = await check(receipt)
    const signer = found === 'signed' ? thumbprint(receipt.device?.public_key_jwk) : undefined
    const isExpected = expected === undefined || signer === expected
    const verdict = found === 'signed' && !isExpected ? 'wrong_key' : found
    const problem = verdict === 'wrong_key' ? 'it was signed with a different key' : defect
    if (shell.json) {
      output.json({
        verdict,
        ...covered.facts,
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
        for (const line of covered.lines) output.line(line)
      }
    }
    return verdict === 'signed' ? exitCodes.done : exitCodes.unverified
  },
})

interface Check {
  verdict: 'signed' | 'unsigned' | 'invalid'
  problem?: string | undefined
  /** What the signature covers. */
  covered: { facts: Record<string, unknown>; lines: string[] }
}

async function check(receipt: Receipt | CallReceipt): Promise<Check> {
  if (isOfCall(receipt)) return checkOfCall(receipt)
  const { verdict, problem, covers } = await verifyReceipt(receipt)
  const left = verdict === 'signed' ? receipt.unsigned : []
  const lines = [
    `Covers     ${covers.join(', ') || 'only the approval itself'}`,
    ...(left.length > 0 ? [`Uncovered  ${left.map(inLine).join(', ')}`] : []),
  ]
  return { verdict, problem, covered: { facts: { covers, unsigned: left }, lines } }
}

async function checkOfCall(receipt: CallReceipt): Promise<Check> {
  const { verdict, problem } = await verifyCallReceipt(receipt)
  if (verdict !== 'signed') return { verdict, problem, covered: { facts: {}, lines: [] } }
  const { call_id, verdict: decision, description, repeat_for_seconds: repeat } = receipt
  const { method, url } = description as Record<string, unknown>
  const repeated = repeat === null ? '' : `, and for ${repeat / 60} minutes again`
  return {
    verdict,
    problem,
    covered: {
      facts: { call_id, decision, description, repeat_for_seconds: repeat },
      lines: [
        `Decision   ${decision === 'approve' ? 'approved' : 'denied'}${repeated}`,
        `Call       ${inLine(String(method))} ${inLine(String(url))}`,
      ],
    },
  }
}

/** It may be anything. */
function isOfCall(receipt: unknown): receipt is CallReceipt {
  return typeof receipt === 'object' && receipt !== null && 'call_id' in receipt
}

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
