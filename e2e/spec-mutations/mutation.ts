/** A change of the sources that breaks the rule of one row of spec-coverage.md, so that its test has to fail. */
export interface Mutation extends Edit {
  /** The first cell of the row. */
  row: string
  /** A second edit, if the rule is enforced in two places. */
  also?: Edit
}

export interface Edit {
  file: string
  /** Must occur exactly once in the file. */
  from: string
  to: string
}
