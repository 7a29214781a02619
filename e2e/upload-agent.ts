/** An agent that uploads as much as it is told, and says how much its memory grew. */
import { createAgentClient } from '@sallyport/sdk'
import { residentBytes } from './resident-bytes.ts'

interface Task {
  options: Parameters<typeof createAgentClient>[0]
  grantId: string
  url: string
  mebibytes: number
}

const chunk = Buffer.alloc(1024 * 1024, 'sallyport ')

process.once('message', ({ options, grantId, url, mebibytes }: Task) => {
  void upload(options, grantId, url, mebibytes).then((result) =>
    process.send?.(result, () => {
      process.disconnect()
    }),
  )
})

async function upload(options: Task['options'], grantId: string, url: string, mebibytes: number) {
  const before = residentBytes(process.pid)
  let most = before
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      most = Math.max(most, residentBytes(process.pid))
      if (sent++ < mebibytes) controller.enqueue(new Uint8Array(chunk))
      else controller.close()
    },
  })
  const headers = { 'content-type': 'application/octet-stream' }
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  const response = await createAgentClient(options).fetch(grantId)(url, init)
  return { answer: await response.json(), grown: most - before }
}
