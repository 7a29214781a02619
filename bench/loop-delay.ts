/**
 * Loaded into the service before it starts: the longest time its event loop was blocked. SIGUSR2 starts a measurement,
 * the next one ends it with a log line. The service's own metrics sample every 10 ms, which is too coarse for this.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const everyMs = 1
const delay = monitorEventLoopDelay({ resolution: everyMs })
let isMeasuring = false
process.on('SIGUSR2', () => {
  isMeasuring = !isMeasuring
  if (isMeasuring) {
    delay.reset()
    delay.enable()
    return
  }
  delay.disable()
  const longestMs = delay.max / 1e6 - everyMs
  process.stderr.write(`${JSON.stringify({ longest_standstill_ms: Math.max(0, longestMs) })}\n`)
})
