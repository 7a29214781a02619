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
  access_request_id: string
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
  event.waitUntil(
    worker.registration.showNotification(pushed.title, {
      body: pushed.body,
      icon: '/authenticator-192.png',
      // A later message about the same request replaces this one.
      tag: pushed.access_request_id,
      requireInteraction: true,
      data: { accessRequestId: pushed.access_request_id },
    }),
  )
})

worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { accessRequestId } = event.notification.data as { accessRequestId: string }
  event.waitUntil(open(accessRequestId))
})

/** Uses a window that is already open, if there is one. Opening decides nothing. */
async function open(accessRequestId: string): Promise<void> {
  const windows = await worker.clients.matchAll({ type: 'window' })
  const [window] = windows.filter(({ url }) => new URL(url).pathname === page)
  if (window) {
    window.postMessage({ accessRequestId })
    await window.focus()
    return
  }
  await worker.clients.openWindow(`${page}#request=${encodeURIComponent(accessRequestId)}`)
}

export {}
