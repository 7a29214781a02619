export type Unreachability = 'this-machine' | 'insecure'

/** Why a phone can't use the authenticator at the service's address, if it can't. */
export function unreachableFromPhone(address: string): Unreachability | undefined {
  const { hostname, protocol } = new URL(address)
  if (/^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return 'this-machine'
  // Browsers create keys on https only.
  return protocol === 'https:' ? undefined : 'insecure'
}
