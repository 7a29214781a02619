/** Times are stored as milliseconds since 1970; an absent one is null. */
export function fromTime(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}
