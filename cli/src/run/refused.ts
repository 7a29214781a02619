/** Why a tool does not reach a host: the HTTP status and the sentence that it gets. */
export class Refused extends Error {
  readonly status: number
  /** As in `X-Sallyport-Error`. */
  readonly code: string

  constructor(status: number, code: string, sentence: string) {
    super(sentence)
    this.status = status
    this.code = code
  }
}
