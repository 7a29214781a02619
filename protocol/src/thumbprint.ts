/** The input of a key's thumbprint hash: its members in the order of RFC 7638 §3.2. */
export function thumbprintText({ crv, kty, x, y }: { kty: string; crv: string; x: string; y: string }): string {
  return JSON.stringify({ crv, kty, x, y })
}
