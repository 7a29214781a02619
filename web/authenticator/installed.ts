/** Service worker and push notifications: the page opens offline, and requests show a notification. */
import type { DeviceClient } from '@sallyport/sdk'
import type { KeptDevice } from './kept-device.ts'

export async function registerWorker(): Promise<void> {
  if (!('serviceWorker' in navigator)) return
  await navigator.serviceWorker.register('/authenticator-sw.js', { scope: '/authenticator' })
  await navigator.serviceWorker.ready
  // Files that were loaded before the worker was active are not in its cache yet.
  const cache = await caches.open('authenticator')
  const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name))
  await cache.addAll(loaded.filter(({ pathname }) => pathname.startsWith('/assets/')).map(({ pathname }) => pathname))
}

export function canRing(): boolean {
  return 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis
}

/** Asks for permission, so it has to be called from a click. */
export async function ring(device: DeviceClient, { vapidPublicKey }: KeptDevice): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false
  const { pushManager } = await navigator.serviceWorker.ready
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: vapidPublicKey })
  await device.setPushToken({ push_token: JSON.stringify(subscription) })
  return true
}
