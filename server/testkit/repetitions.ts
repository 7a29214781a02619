/** How often a test with random input repeats it: a third of `all`, and all of them with TEST_LONG_FORM=1. */
export function repetitions(all: number): number {
  return process.env['TEST_LONG_FORM'] === '1' ? all : Math.ceil(all / 3)
}
