/**
 * Reads the fragment of the URL. Anyone with a pairing code can pair a device, so the code is removed from the URL
 * immediately.
 */
import { useSyncExternalStore } from 'react'

const requestId = /^(?:arq|cal)_[0-9a-hjkmnp-tv-z]{26}$/

export function takePairingCode(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get('pairing_code')
  if (code !== null) history.replaceState(null, '', location.pathname)
  return code ?? ''
}

/**
 * The id of the open request or held call, if any. Anyone can craft a URL, so only an id is read from it, and opening it
 * decides nothing.
 */
export function useOpenRequest(): string | undefined {
  const hash = useSyncExternalStore(onHash, () => location.hash)
  const id = new URLSearchParams(hash.slice(1)).get('request') ?? ''
  return requestId.test(id) ? id : undefined
}

export function isCall(id: string): boolean {
  return id.startsWith('cal_')
}

function onHash(changed: () => void): () => void {
  addEventListener('hashchange', changed)
  return () => {
    removeEventListener('hashchange', changed)
  }
}

export function addressOf(id: string): string {
  return `#request=${id}`
}

export function ToList() {
  return (
    <a href="#" className="inline-flex min-h-10 items-center font-semibold text-accent">
      Other requests
    </a>
  )
}
