/** How errors are written for clients that expect those of another server, and show nothing else. */

/** `tool`: a message where most APIs have one. `git_text`: git shows plain text. `s3_xml`: what S3's clients read. */
export type ErrorFormat = 'tool' | 'git_text' | 's3_xml'

interface Failure {
  code: string
  message: string
  request_id: string
}

interface Written {
  type: string
  body: string
}

const formats: Record<ErrorFormat, (error: Failure) => Written> = {
  tool: (error) => ({
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({ message: error.message, error }),
  }),
  git_text: ({ message }) => ({ type: 'text/plain; charset=utf-8', body: `Sallyport: ${message}\n` }),
  s3_xml: ({ code, message, request_id }) => ({
    type: 'application/xml',
    body:
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<Error><Code>${inXml(code)}</Code><Message>${inXml(message)}</Message><RequestId>${inXml(request_id)}</RequestId></Error>`,
  }),
}

export function writeError(format: ErrorFormat, error: Failure): Written {
  return formats[format](error)
}

function inXml(text: string): string {
  return text.replace(/[<>&]/g, (one) => `&#${one.charCodeAt(0)};`)
}
