import type { Socket } from 'node:net'
import type { ClientBase } from 'pg'

/** Without ending the session properly, which would mean waiting for the server. */
export function destroy(client: ClientBase): void {
  const { connection } = client as unknown as { connection: { stream: Socket } }
  connection.stream.destroy()
}
