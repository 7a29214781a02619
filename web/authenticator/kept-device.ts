/**
 * Stores this device in the browser: its session and its key, which Web Crypto does not export. IndexedDB stores the
 * key object itself, so it survives a restart without being exposed as bytes.
 */
import type { DeviceKeyPair } from '@sallyport/sdk'

export interface KeptDevice {
  deviceId: string
  sessionToken: string
  key: DeviceKeyPair
  /** Browsers need it to subscribe to Web Push. */
  vapidPublicKey: string
  wantsNoNotifications?: true
}

const place = { database: 'sallyport-authenticator', store: 'device', id: 'this' }

export async function readKept(): Promise<KeptDevice | undefined> {
  return (await inStore('readonly', (store) => store.get(place.id))) as KeptDevice | undefined
}

export async function keep(device: KeptDevice): Promise<void> {
  await inStore('readwrite', (store) => store.put(device, place.id))
}

export async function forget(): Promise<void> {
  await inStore('readwrite', (store) => store.delete(place.id))
}

async function inStore(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const opening = indexedDB.open(place.database, 1)
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(place.store)
  }
  const database = (await settled(opening)) as IDBDatabase
  try {
    const transaction = database.transaction(place.store, mode)
    const result = await settled(act(transaction.objectStore(place.store)))
    if (mode === 'readwrite') await committed(transaction)
    return result
  } finally {
    database.close()
  }
}

function settled(request: IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result)
    }
    request.onerror = () => {
      reject(request.error ?? new Error('The browser’s database failed.'))
    }
  })
}

function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => {
      resolve()
    }
    transaction.onabort = () => {
      reject(transaction.error ?? new Error('The browser’s database failed.'))
    }
  })
}
