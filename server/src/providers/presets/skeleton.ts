/** Reduces a name to its appearance, so that names that look alike become the same text. */

/** Letters of other alphabets, by the Latin letter they resemble. NFKD has already removed accents and styles. */
const lookAlikes: Record<string, string> = {
  a: 'аαɑᴀΑАᎪꓮꭺⲁ',
  b: 'вβʙΒВᏴꓐⲃ',
  c: 'сϲᴄСϹᏟꓚⲥꮯ',
  d: 'ԁɗđᴅᎠꓓꭰ',
  e: 'еεєҽᴇΕЕᎬꓰꭼⲉ',
  f: 'ſƒꜰϝꓝ',
  g: 'ɡցɢԌᏀꓖꮐᏳ',
  h: 'һհнħʜΗНᎻꓧꮋⲏ',
  i: 'іιıɪɩΙІᎥꓲꭵⲓ',
  j: 'јϳᴊЈᎫꓙꭻ',
  k: 'кκᴋΚКᏦꓗꮶⲕ',
  l: 'ӏłʟǀⅼӀᏞꓡꮮ',
  m: 'мᴍΜМᎷꓟꮇⲙ',
  n: 'ոηпɴΝꓠⲛ',
  o: 'оοσօøᴏΟОՕꓳꮎᎾⲟᴑ๐໐ဝഠ०੦૦௦౦೦০୦၀',
  p: 'рρᴘΡРᏢꓑꮲⲣ',
  q: 'ԛզ',
  r: 'гʀᎡᏒꓣꮢ',
  s: 'ѕꜱЅՏᏚꓢꮪႽʂ',
  t: 'тτŧᴛΤТᎢꓔꭲⲧ',
  u: 'υսᴜՍꓴ',
  v: 'νѵᴠᏙꓦꮩ',
  w: 'ωԝшᴡᎳꓪꮃⲱ',
  x: 'хχΧХꓫⲭ',
  y: 'уγүʏΥУҮꓬⲩ',
  z: 'ᴢΖᏃꓜꮓƶⲍ',
}

const latinOf = new Map(
  Object.entries(lookAlikes).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
)

const digits: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 6: 'b', 7: 't', 8: 'b', 9: 'g' }
const symbols: Record<string, string> = { '@': 'a', $: 's', '!': 'i', '|': 'i', '€': 'e', '£': 'l', '¢': 'c', '+': 't' }

/** The letter A in three emoji alphabets: white on black in a circle, in a square, and regional indicators (flags). */
const emojiOfA = [0x1f150, 0x1f170, 0x1f1e6]

/** The text in lower-case Latin letters. Characters that are not letters stay unchanged. */
function plainLetters(text: string): string {
  const bare = text.normalize('NFKD').replace(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
  return Array.from(bare, latinLetter).join('')
}

function latinLetter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const start = emojiOfA.find((first) => code >= first && code < first + 26)
  if (start !== undefined) return String.fromCharCode(97 + code - start)
  const lower = character.toLowerCase()
  return latinOf.get(character) ?? latinOf.get(lower) ?? lower
}

/** `i` and `l` look the same, and a third repetition of a letter is easily overlooked. */
export function folded(word: string): string {
  return word.replace(/i/g, 'l').replace(/(.)\1{2,}/gu, '$1$1')
}

/**
 * The words of a name in each way it can be read: digits as letters (`g00gle`), digits as numbers (`google2`),
 * symbols as letters (`$lack`), and pairs of letters as the one they resemble (`zoorn`).
 */
export function readings(text: string): string[][] {
  const plain = plainLetters(text)
  const withDigits = plain.replace(/\d/g, (digit) => digits[digit] ?? digit)
  const withSymbols = withDigits.replace(/[@$!|€£¢+]/g, (symbol) => symbols[symbol] ?? symbol)
  const withPairs = withDigits.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd')
  const all = [withDigits, plain.replace(/\d/g, ' '), withSymbols, withPairs].map((reading) =>
    reading
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word !== '')
      .map(folded),
  )
  return [...new Map(all.map((words) => [words.join(' '), words])).values()]
}
