import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeWords, readAddresses } from './mail-headers.ts'
import { readMessage } from './mail-message.ts'

function read(message: string) {
  return readMessage(Buffer.from(message))
}

test('addresses are read without their display names', () => {
  const cases: [string, string[] | undefined][] = [
    ['ada@example.com', ['ada@example.com']],
    ['', []],
    ['Ada <ada@example.com>, bob@example.com', ['ada@example.com', 'bob@example.com']],
    ['"Lovelace, Ada" <ada@example.com>', ['ada@example.com']],
    ['=?utf-8?q?Zo=C3=AB?= <zoe@example.com>', ['zoe@example.com']],
    ['A.B. <a@example.com>', ['a@example.com']],
    // What mail programs read in different ways.
    ['ada@example.com bob@example.com', undefined],
    ['ada@example.com; bob@example.com', undefined],
    ['ada@example.com (bob@example.com)', undefined],
    ['friends: ada@example.com, bob@example.com;', undefined],
    ['<@relay.example:ada@example.com>', undefined],
    ['"ada <bob@example.com>" <ada@example.com>', undefined],
    ['"ada\\" <bob@example.com>, "x" <ada@example.com>', undefined],
    ['"ada <bob@example.com>', undefined],
    ['=?utf-8?q?x=2C_bob=40example=2Ecom?= <ada@example.com>', undefined],
    ['=?utf-8?q?bob=40example.com?=', undefined],
    ['ada@ex\u0430mple.com', undefined],
    ['"ada"@example.com', undefined],
    ['"ada"bob@example.com', undefined],
    ['"=?utf-8?q?a=2C_bob=40example=2Ecom?=" <ada@example.com>', undefined],
    ['Ada <"ada"@example.com>', undefined],
    ['ada@[127.0.0.1]', undefined],
    ['ada@example.com,', undefined],
    ['ada@@example.com', undefined],
    ['ada <ada@example.com> <bob@example.com>', undefined],
    ['bob@example.com <ada@example.com>', undefined],
  ]
  for (const [value, expected] of cases) assert.deepEqual(readAddresses(value), expected, value)
})

test('encoded words are decoded, if all mail programs decode them alike', () => {
  const cases: [string, string | undefined][] = [
    ['Invoice 42', 'Invoice 42'],
    ['=?utf-8?b?R3LDvMOfZQ==?=', 'Grüße'],
    ['Re: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_an?= all', 'Re: Grüße an all'],
    ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
    ['=?iso-8859-1?q?Gr=FC=DFe?=', 'Grüße'],
    ['=?utf-8?q?=C3?= =?utf-8?q?=BC?=', undefined],
    ['=?utf-8?q?a?==?utf-8?q?b?=', undefined],
    ['x=?utf-8?q?a?=', undefined],
    ['=?utf-7?q?+AGE-?=', undefined],
    ['=?utf-8?b?R3L*?=', undefined],
    ['=?utf-8?q?a b?=', undefined],
    ['=?utf-8?q?a=4?=', undefined],
    ['=?utf-8?x?a?=', undefined],
    ['=?utf-8?q?a', undefined],
  ]
  for (const [value, expected] of cases) assert.equal(decodeWords(value), expected, value)
  assert.equal(decodeWords('=?utf-8?q?=E2=80=AE?='), '\u202e', 'which is shown as an escape')
})

test('a message is read with all of its recipients, texts and files', () => {
  const mixed = [
    'From: ada@example.com',
    'To: bob@example.com',
    'Bcc: eve@example.com',
    'Subject: A long',
    '  subject',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="b1"',
    '',
    '--b1',
    'Content-Type: multipart/alternative; boundary="b2"',
    '',
    '--b2',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=C3=BC=',
    '=C3=9Fe',
    '--b2',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    'PGI+',
    '',
    '--b2--',
    '--b1',
    'Content-Type: application/pdf; name="a.pdf"',
    'Content-Disposition: attachment; filename="=?utf-8?q?b=2Epdf?="',
    '',
    'JVBERi0=',
    '--b1--',
    '',
  ]
  for (const newline of ['\n', '\r\n']) {
    assert.deepEqual(read(mixed.join(newline)), {
      from: ['ada@example.com'],
      to: ['bob@example.com'],
      cc: [],
      bcc: ['eve@example.com'],
      replyTo: [],
      subject: 'A long  subject',
      text: 'Grüße',
      html: '<b>',
      files: ['b.pdf'],
    })
  }
})

test('a message that could be read in another way is not read', () => {
  const cases: Record<string, string> = {
    'two recipients’ headers': 'To: ada@example.com\nTo: bob@example.com\n\n',
    'two subjects': 'To: ada@example.com\nSubject: a\nSUBJECT: b\n\n',
    'a blank before the colon': 'To: ada@example.com\nBcc : bob@example.com\n\n',
    'a blank line that continues': 'To: ada@example.com\n \nBcc: bob@example.com\n\n',
    'a first line that continues': ' x\nTo: ada@example.com\n\n',
    'other recipients': 'To: ada@example.com\nResent-Bcc: bob@example.com\n\n',
    'mixed line breaks': 'To: ada@example.com\r\nBcc: bob@example.com\n\r\n\r\n',
    'a lone carriage return': 'To: ada@example.com\nSubject: a\rBcc: bob@example.com\n\n',
    'no end of the headers': 'To: ada@example.com\nSubject: a',
    'a line that is no header': 'To: ada@example.com\nFrom bob\n\n',
    'bytes beyond ASCII': 'To: ada@example.com\nSubject: Grüße\n\n',
    NUL: 'To: ada@example.com\nSubject: a\u0000b\n\n',
    'a file name in pieces': 'To: a@example.com\nContent-Disposition: attachment; filename*0=a; filename*1=b\n\n',
    'two types': 'To: a@example.com\nContent-Type: text/plain\nContent-Type: multipart/mixed; boundary=b\n\n',
    'two boundaries': 'To: a@example.com\nContent-Type: multipart/mixed; boundary=b; boundary=c\n\n--b\n\nx\n--b--\n',
    'a boundary within a part':
      'To: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx --b y\n--b--\n',
    'text before the parts': 'To: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\nhi\n--b\n\nx\n--b--\n',
    'text after the parts': 'To: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--\nhi',
    'an unknown charset': 'To: a@example.com\nContent-Type: text/plain; charset=utf-7\n\nx',
    'an unknown encoding': 'To: a@example.com\nContent-Transfer-Encoding: x-uuencode\n\nx',
    'base64 that is none': 'To: a@example.com\nContent-Transfer-Encoding: base64\n\nx*',
  }
  for (const [what, message] of Object.entries(cases)) assert.equal(read(message), undefined, what)
  assert.ok(read('To: ada@example.com\nSubject: a\n\n'))
})
