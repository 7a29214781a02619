/**
 * A set whose members come and go quickly, such as calls in flight. Not a `Set`: V8 links each of its hash tables to the
 * one that replaced it, so once the first has moved to the old generation, all later ones stay in memory with it.
 */
export interface ActiveSet<Item> {
  /** Returns a function that removes the item. */
  add: (item: Item) => () => void
  all: () => Item[]
}

interface Entry<Item> {
  item: Item
  index: number
}

const removed = -1

export function createActiveSet<Item>(): ActiveSet<Item> {
  const entries: Entry<Item>[] = []
  return {
    add: (item) => {
      const entry = { item, index: entries.length }
      entries.push(entry)
      return () => {
        if (entry.index === removed) return
        // The last entry moves to the index that is now free.
        const last = entries.pop()
        if (last && last !== entry) {
          entries[entry.index] = last
          last.index = entry.index
        }
        entry.index = removed
      }
    },
    all: () => entries.map(({ item }) => item),
  }
}
