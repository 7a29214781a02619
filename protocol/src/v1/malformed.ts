/**
 * What was sent does not have the form that the protocol asks for. The message names the rule and holds nothing of what
 * was sent, so that it may stand in a log.
 */
export class Malformed extends Error {
  constructor(rule: string) {
    super(rule)
    this.name = 'Malformed'
  }
}
