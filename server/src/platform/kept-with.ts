/** A pure function of an object. What it makes is kept as long as the object is. */
export function keptWith<Of extends object, Made extends object>(make: (of: Of) => Made): (of: Of) => Made {
  const kept = new WeakMap<Of, Made>()
  return (of) => {
    let made = kept.get(of)
    if (!made) kept.set(of, (made = make(of)))
    return made
  }
}
