import { CopyButton } from '../../ui/copy-button.tsx'

export function RedirectUrl({ url }: { url: string }) {
  return (
    <div className="flex flex-wrap items-center gap-3">
      <code className="min-w-0 rounded-lg bg-raised px-3 py-2 text-sm text-ink wrap-anywhere">{url}</code>
      <CopyButton text={url} label="Copy the redirect URL" />
    </div>
  )
}
