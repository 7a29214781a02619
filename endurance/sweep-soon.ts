/** Loaded into the service before it starts: runs its ten-minute timers once, after three seconds. */
const tenMinutesMs = 600_000
const soonMs = 3_000
const usual = globalThis.setInterval

globalThis.setInterval = ((work: () => void, ms: number) => {
  if (ms === tenMinutesMs) setTimeout(work, soonMs)
  return usual(work, ms)
}) as typeof setInterval
