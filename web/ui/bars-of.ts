/** How tall each bar is, where the tallest fills the height. What is not nothing can always be seen. */
export function barsOf(counts: readonly number[], height: number): number[] {
  const most = Math.max(...counts, 1)
  const least = Math.min(3, height)
  return counts.map((count) => (count <= 0 ? 0 : Math.max(least, (count / most) * height)))
}
