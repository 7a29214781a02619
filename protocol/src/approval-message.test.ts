import assert from 'node:assert/strict'
import test from 'node:test'
import { approvalMessage, callMessage, deviceMessage } from './approval-message.ts'

test('the approval message is the string of spec v4, Rules 2', () => {
  assert.equal(approvalMessage('chl_1', 'n0nce', 'arq_2', 'deny'), 'svc-approval.v1.chl_1.n0nce.arq_2.deny')
})

test('the message for device changes has another prefix, so that it cannot pass for an approval', () => {
  assert.equal(deviceMessage('chl_1', 'n0nce', 'usr_3', 'remove:dev_4'), 'svc-device.v1.chl_1.n0nce.usr_3.remove:dev_4')
})

test('the message for held calls has a prefix of its own', () => {
  assert.equal(callMessage('chl_1', 'n0nce', 'cal_2', 'approve'), 'svc-call.v1.chl_1.n0nce.cal_2.approve')
})

test('an empty part, or one with the separator in it, is refused', () => {
  assert.throws(() => approvalMessage('chl_1', 'a.b', 'arq_2', 'approve'), RangeError)
  assert.throws(() => approvalMessage('', 'n0nce', 'arq_2', 'approve'), RangeError)
  assert.throws(() => deviceMessage('chl_1', 'n0nce', 'usr_3', 'remove:dev.4'), RangeError)
  assert.throws(() => deviceMessage('chl_1', 'n0nce', 'usr_3', ''), RangeError)
  assert.throws(() => callMessage('chl_1', 'n0nce', 'cal.2', 'approve'), RangeError)
  assert.throws(() => callMessage('chl_1', '', 'cal_2', 'deny'), RangeError)
})
