/** The height of each bar. The tallest has the full height, and non-zero bars are always visible. */
export function barsOf(counts: readonly number[], height: number): number[] {
  const most = Math.max(...counts, 1)
  const least = Math.min(3, height)
  return counts.map((count) => (count <= 0 ? 0 : Math.max(least, (count / most) * height)))
}
