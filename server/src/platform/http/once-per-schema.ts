/** Many routes share a schema. It is compiled once, for all of them and for every service that a process starts. */
export function oncePerSchema<Route extends { schema: unknown }, Compiled>(
  compile: (route: Route) => Compiled,
): (route: Route) => Compiled {
  const known = new WeakMap<object, Compiled>()
  return (route) => {
    const schema = route.schema as object
    const compiled = known.get(schema) ?? compile(route)
    known.set(schema, compiled)
    return compiled
  }
}
