import { ServiceError } from '../platform/errors.ts'

const methodName = /^[A-Za-z]{1,20}$/

/** In upper case. TRACE would echo the credential, CONNECT would open a tunnel past every check. */
export function readMethod(text: string, field: string): string {
  const name = text.toUpperCase()
  if (!methodName.test(text) || name === 'CONNECT' || name === 'TRACE') {
    throw new ServiceError('invalid_field', {
      field,
      message: `"${field}" is not an HTTP method that can be proxied.`,
    })
  }
  return name
}

export function readMethods(texts: readonly string[], field: string): string[] {
  return [...new Set(texts.map((text, index) => readMethod(text, `${field}.${index}`)))]
}
