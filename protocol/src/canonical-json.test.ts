import assert from 'node:assert/strict'
import test from 'node:test'
import { canonicalJson } from './canonical-json.ts'

/** A double by its bits, as RFC 8785 Appendix B names them. */
function double(hex: string): number {
  return Buffer.from(hex, 'hex').readDoubleBE()
}

test('numbers are serialised as in RFC 8785 Appendix B', () => {
  const samples: [string, string][] = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ]
  for (const [bits, text] of samples) assert.equal(canonicalJson(double(bits)), text, bits)
  for (const bits of ['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000']) {
    assert.throws(() => canonicalJson(double(bits)), RangeError)
  }
})

test('members are sorted by their UTF-16 code units, as in RFC 8785 §3.2.3', () => {
  const sample = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  assert.equal(
    canonicalJson(sample),
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
  assert.equal(
    canonicalJson({ b: [{ z: 1, a: 2 }], a: { d: null, c: true } }),
    '{"a":{"c":true,"d":null},"b":[{"a":2,"z":1}]}',
  )
})

test('the sample of RFC 8785 §3.2.2 becomes the text that it shows', () => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  assert.equal(
    canonicalJson(JSON.parse(sample)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

test('values that JSON cannot represent are refused, and undefined members are left out', () => {
  assert.equal(canonicalJson({ a: undefined, b: 1, __proto__: null }), '{"b":1}')
  assert.equal(canonicalJson(JSON.parse('{"__proto__":1}')), '{"__proto__":1}')
  for (const value of [
    undefined,
    [undefined],
    new Array(1),
    1n,
    '\ud800',
    { '\udc00': 1 },
    new Date(0),
    () => 1,
    Symbol('a'),
  ]) {
    assert.throws(() => canonicalJson(value), RangeError)
  }
})
