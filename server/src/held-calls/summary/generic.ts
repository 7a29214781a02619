/** A call to an API that has no sentences of its own: method, path and host, as they are. */
import type { Said } from './routes.ts'
import type { Detail, SummarisedCall } from './summary.ts'
import { cutTo, quotedName, shownValue } from './visible-text.ts'

const mostParameters = 40

/** Undefined unless the path says which resource the call is for. */
export function sayGeneric({ method, url, headers }: SummarisedCall): Said | undefined {
  if (!/^[A-Z]{1,20}$/.test(method) || !/^[\x21-\x7e]*$/.test(url.pathname)) return undefined
  const { text, isCut } = cutTo(url.pathname, 160)
  const path = `${text}${isCut ? '…' : ''}${url.search === '' ? '' : '?…'}`
  const verb = method === 'DELETE' ? 'Delete' : method
  return {
    sentence: `${verb} ${path} at ${shownHost(url.host)}`,
    details: [...operationIn(headers), ...parametersIn(url)],
  }
}

/** No host is that long in practice; the end of it says whose it is. */
function shownHost(host: string): string {
  return host.length > 100 ? `…${host.slice(-100)}` : host
}

/** AWS names the operation here. */
function operationIn(headers: SummarisedCall['headers']): Detail[] {
  return headers.flatMap(([name, value]) =>
    name === 'x-amz-target' ? [{ name: 'Operation', value: shownValue(value, { length: 200 }) }] : [],
  )
}

function parametersIn({ searchParams }: URL): Detail[] {
  const pairs = [...searchParams]
  const shown = pairs.slice(0, mostParameters).map(([name, value]) => ({
    name: `Parameter ${quotedName(name, 40)}`,
    value: shownValue(value, { length: 200 }),
  }))
  const left = pairs.length - shown.length
  return left > 0 ? [...shown, { name: 'More', value: `${left} more parameters` }] : shown
}
