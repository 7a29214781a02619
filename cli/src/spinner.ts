/** A line on the terminal that shows how long something has been waited for. */
import type { Output } from './output.ts'
import { elapsed } from './times.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Returns the function that ends it. */
export function spin(output: Pick<Output, 'progress'>, text: (time: string) => string): () => void {
  const since = Date.now()
  let frame = 0
  const draw = () => {
    output.progress(`${frames[frame++ % frames.length] ?? ''} ${text(elapsed(since))}`)
  }
  const timer = setInterval(draw, 120)
  draw()
  return () => {
    clearInterval(timer)
    output.progress(undefined)
  }
}
