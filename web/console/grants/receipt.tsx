import type { Grant } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { service } from '../service.ts'

/** Downloads the receipt, which proves the user's approval independently of this service. */
export function Receipt({ grant: { grant_id: id, agent } }: { grant: Grant }) {
  const download = async () => {
    const receipt = await service.grants.receipt(id)
    saveFile(`receipt-${id}.json`, new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }))
  }
  return (
    <Action look="bare" act={download} label={`Download the receipt for ${agent.name}`}>
      Receipt
    </Action>
  )
}

function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
