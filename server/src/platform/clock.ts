/** The current time. Passed in as a dependency, so that tests can set it. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
