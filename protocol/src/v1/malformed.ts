/**
 * The input does not have the format that the protocol requires. The message names the rule and contains nothing of the
 * input, so it can be logged.
 */
export class Malformed extends Error {
  constructor(rule: string) {
    super(rule)
    this.name = 'Malformed'
  }
}
