/** Thrown when a command can't run here. The message says why, and what to do. */
export class CommandRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandRefused'
  }
}
