/** A change of the sources that breaks what one row of spec-coverage.md says, and so has to make its test fail. */
export interface Mutation extends Edit {
  /** The first cell of the row. */
  row: string
  /** Where the rule is enforced twice, so that one edit breaks nothing. */
  also?: Edit
}

export interface Edit {
  file: string
  /** Stands in the file exactly once. */
  from: string
  to: string
}
