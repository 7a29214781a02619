/** Brings a name to what the eye makes of it, so that two names that look alike become the same text. */

/** Letters of other alphabets, by the Latin letter they are taken for. NFKD has already undone accents and styles. */
const lookAlikes: Record<string, string> = {
  a: 'аαɑᴀΑАᎪ',
  b: 'вβʙΒВᏴ',
  c: 'сϲᴄСϹᏟ',
  d: 'ԁɗđᴅᎠ',
  e: 'еεєҽᴇΕЕᎬ',
  f: 'ſƒꜰϝ',
  g: 'ɡցɢԌᏀ',
  h: 'һհнħʜΗНᎻ',
  i: 'іιıɪɩΙІᎥ',
  j: 'јϳᴊЈᎫ',
  k: 'кκᴋΚКᏦ',
  l: 'ӏłʟǀⅼӀᏞ',
  m: 'мᴍΜМᎷ',
  n: 'ոηпɴΝ',
  o: 'оοσօøᴏΟОՕ',
  p: 'рρᴘΡРᏢ',
  q: 'ԛզ',
  r: 'гʀᎡᏒ',
  s: 'ѕꜱЅՏᏚ',
  t: 'тτŧᴛΤТᎢ',
  u: 'υսᴜՍ',
  v: 'νѵᴠᏙ',
  w: 'ωԝшᴡᎳ',
  x: 'хχΧХ',
  y: 'уγүʏΥУҮ',
  z: 'ᴢΖᏃ',
}

const latinOf = new Map(
  Object.entries(lookAlikes).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
)

const digits: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 6: 'b', 7: 't', 8: 'b', 9: 'g' }
const symbols: Record<string, string> = { '@': 'a', $: 's', '!': 'i', '|': 'i', '€': 'e', '£': 'l', '¢': 'c', '+': 't' }

/** The text in plain lower-case letters; what is no letter stays what it is. */
function plainLetters(text: string): string {
  const bare = text.normalize('NFKD').replace(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
  return Array.from(bare, (character) => latinOf.get(character) ?? character.toLowerCase()).join('')
}

/** i and l are one letter to the eye, and a third of the same letter in a row is overlooked. */
export function folded(word: string): string {
  return word.replace(/i/g, 'l').replace(/(.)\1{2,}/gu, '$1$1')
}

/**
 * The words of a name in each way it can be read: digits as letters (`g00gle`), digits as mere numbers (`google2`),
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
