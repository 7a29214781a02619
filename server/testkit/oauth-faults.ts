/** Faults between us and a provider, by path. Each returns a function that ends it. */
export interface Answer {
  status: number
  headers: Record<string, string | string[]>
  body: Buffer
}

/** `hang` and `cut` stop the call before the provider sees it; `lost` drops the response after processing. */
export type InsteadOfAnswer =
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'hang'
  | 'cut'
  | 'lost'

export interface Faults {
  raise: {
    /** The next calls to this path (all, without a count) get this response instead, in order. */
    answer: (path: string, instead: InsteadOfAnswer, times?: number) => () => void
    /** Holds back the next responses of this path (all, without a count); `arrived` resolves with the first. */
    hold: (path: string, times?: number) => { arrived: Promise<void>; release: () => void }
    /** Changes the JSON responses of this path. */
    change: (path: string, change: (body: any) => unknown) => () => void
  }
  answerOf: (path: string) => Answer | 'hang' | 'cut' | 'lost' | undefined
  changed: (path: string, answer: Answer) => Answer
  heldBack: (path: string) => Promise<void>
}

export function createFaults(): Faults {
  const answers = new Set<{ path: string; instead: InsteadOfAnswer; left: number }>()
  const changes = new Set<{ path: string; change: (body: any) => unknown }>()
  const holds = new Set<{
    path: string
    left: number
    arrive: () => void
    released: Promise<void>
    release: () => void
  }>()
  const raised = <Fault>(faults: Set<Fault>, fault: Fault) => {
    faults.add(fault)
    return () => void faults.delete(fault)
  }

  return {
    raise: {
      answer: (path, instead, times = Infinity) => raised(answers, { path, instead, left: times }),
      change: (path, change) => raised(changes, { path, change }),
      hold: (path, times = Infinity) => {
        const arrival = Promise.withResolvers<undefined>()
        const end = Promise.withResolvers<undefined>()
        const hold = {
          path,
          left: times,
          arrive: () => {
            arrival.resolve(undefined)
          },
          released: end.promise,
          release: () => {
            holds.delete(hold)
            end.resolve(undefined)
          },
        }
        holds.add(hold)
        return { arrived: arrival.promise, release: hold.release }
      },
    },
    answerOf: (path) => {
      const fault = [...answers].find((one) => one.path === path && one.left > 0)
      if (!fault) return undefined
      fault.left -= 1
      const { instead } = fault
      if (typeof instead === 'string') return instead
      return { status: instead.status, headers: instead.headers ?? {}, body: Buffer.from(instead.body ?? '') }
    },
    changed: (path, answer) => {
      const due = [...changes].filter((one) => one.path === path)
      if (due.length === 0 || !/json/.test(String(answer.headers['content-type']))) return answer
      const body = due.reduce<unknown>((before, { change }) => change(before), JSON.parse(answer.body.toString()))
      return { ...answer, body: Buffer.from(JSON.stringify(body)) }
    },
    heldBack: async (path) => {
      for (const hold of [...holds].filter((one) => one.path === path && one.left > 0)) {
        hold.left -= 1
        hold.arrive()
        await hold.released
      }
    },
  }
}
