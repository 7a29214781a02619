import type { Socket } from 'node:net'

const openMs = 30_000

/** Resolves once the socket is open, and destroys it if that fails or takes too long. */
export function opened<S extends Socket>(socket: S, event: 'connect' | 'secureConnect'): Promise<S> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), openMs)
    const failed = (error: Error) => {
      clearTimeout(timer)
      reject(error)
    }
    // It stays: an error without a listener would end the process.
    socket.on('error', failed)
    socket.once(event, () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}
