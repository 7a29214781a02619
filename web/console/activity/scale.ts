/** A scale for counts: from 0 to a round number that is not below the largest, with a whole number in the middle. */
export function scaleOf(largest: number): { top: number; ticks: number[] } {
  const power = 10 ** Math.floor(Math.log10(Math.max(largest, 10)))
  const steps = power === 10 && largest <= 10 ? [0.2, 0.4, 0.6, 0.8, 1] : [1, 1.2, 1.4, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]
  const top = Math.round((steps.find((step) => step * power >= largest) ?? 10) * power)
  return { top, ticks: [top, top / 2, 0] }
}
