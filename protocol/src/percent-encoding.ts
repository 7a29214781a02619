/** Decodes escaped unreserved characters, which is equivalent by RFC 3986 §2.3. Other escapes stay, in upper case. */
export function unescapeUnreserved(text: string): string {
  return text.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return /[a-z0-9._~-]/i.test(character) ? character : escape.toUpperCase()
  })
}
