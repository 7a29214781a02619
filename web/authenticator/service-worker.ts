/// <reference lib="webworker" />
/**
 * Lets the authenticator open offline, and shows push notifications. Caches only the page, never API responses:
 * requests and decisions always come from the service.
 */
const worker = self as unknown as ServiceWorkerGlobalScope

const cacheName = 'authenticator'
const page = '/authenticator'

interface Pushed {
  title: string
  body: string
  access_request_id?: string
  /** The newest of the calls that wait. */
  call_id?: string
  /** How many calls wait, as text: some push services carry nothing else. */
  count?: string
}

worker.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) => cache.addAll([page, '/favicon.svg', '/authenticator.webmanifest', '/authenticator-192.png']))
      .then(() => worker.skipWaiting()),
  )
})

worker.addEventListener('activate', (event) => {
  event.waitUntil(worker.clients.claim())
})

worker.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== worker.location.origin) return
  if (pathname === page) event.respondWith(newest(request))
  // Names contain a hash of the content.
  if (pathname.startsWith('/assets/')) event.respondWith(kept(request))
  if (['/favicon.svg', '/authenticator.webmanifest', '/authenticator-192.png'].includes(pathname))
    event.respondWith(kept(request))
})

async function newest(request: Request): Promise<Response> {
  const cache = await caches.open(cacheName)
  try {
    const response = await fetch(request)
    if (response.ok) await cache.put(page, response.clone())
    return response
  } catch (error) {
    const last = await cache.match(page)
    if (last) return last
    throw error
  }
}

async function kept(request: Request): Promise<Response> {
  const cache = await caches.open(cacheName)
  const found = await cache.match(request)
  if (found) return found
  const response = await fetch(request)
  if (response.ok) await cache.put(request, response.clone())
  return response
}

worker.addEventListener('push', (event) => {
  const pushed = event.data?.json() as Pushed
  const { access_request_id: request, call_id: call, count = '1' } = pushed
  event.waitUntil(
    worker.registration.showNotification(pushed.title, {
      body: pushed.body,
      icon: '/authenticator-192.png',
      // A later message about the same request replaces this one, and one about calls all others about calls.
      tag: request ?? 'calls',
      requireInteraction: true,
      // Of several calls, the list opens.
      data: { id: request ?? (Number(count) > 1 ? '' : (call ?? '')) },
    }),
  )
})

worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { id } = event.notification.data as { id: string }
  event.waitUntil(open(id))
})

/** Uses a window that is already open, if there is one. Opening decides nothing. */
async function open(id: string): Promise<void> {
  const windows = await worker.clients.matchAll({ type: 'window' })
  const [window] = windows.filter(({ url }) => new URL(url).pathname === page)
  if (window) {
    window.postMessage({ id })
    await window.focus()
    return
  }
  await worker.clients.openWindow(id === '' ? page : `${page}#request=${encodeURIComponent(id)}`)
}

export {}
