/** Text of several lines, such as a key: pasted, or read from a file that the user chooses. */
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { buttonLook } from './action.tsx'
import { inputLook } from './field.tsx'

interface FileFieldProps {
  label: string
  note?: ReactNode
  problem?: string | undefined
  /** File types to offer, such as `.pem,.key`. */
  accept: string
  maxCharacters: number
  /** Shows dots instead of the text. */
  isSecret: boolean
  value: string
  onChange: (text: string) => void
}

export function FileField({ label, note, problem, accept, maxCharacters, isSecret, value, onChange }: FileFieldProps) {
  const id = useId()
  const [file, setFile] = useState<{ name: string; isTooLarge: boolean }>()
  const tooLarge = file?.isTooLarge
    ? `${file.name} is too large for a key: at most ${maxCharacters.toLocaleString('en')} characters.`
    : undefined
  const shown = tooLarge ?? problem
  const choose = async (chosen: File | undefined) => {
    if (!chosen) return
    const isTooLarge = chosen.size > maxCharacters
    setFile({ name: chosen.name, isTooLarge })
    if (!isTooLarge) onChange(await chosen.text())
  }
  const described = [note && `${id}-note`, shown && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        {label}
      </label>
      {note && (
        <p id={`${id}-note`} className="text-sm text-quiet">
          {note}
        </p>
      )}
      <textarea
        id={id}
        rows={4}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        placeholder="Paste it here, or choose a file"
        className={`${inputLook} font-mono text-xs ${isSecret && value !== '' ? '[-webkit-text-security:disc]' : ''}`}
        aria-invalid={shown ? true : undefined}
        aria-describedby={described || undefined}
        value={value}
        onChange={({ target }) => {
          setFile(undefined)
          onChange(target.value)
        }}
      />
      {shown && (
        <p id={`${id}-problem`} role="alert" className="text-sm font-medium text-danger">
          {shown}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-3 pt-1">
        <label
          className={`${buttonLook('plain')} cursor-pointer has-focus-visible:outline-2 has-focus-visible:outline-accent`}
        >
          Choose a file
          <span className="sr-only"> for {label}</span>
          <input
            type="file"
            accept={accept}
            className="sr-only"
            onChange={({ target }) => {
              void choose(target.files?.[0])
              // So that the same file can be chosen again.
              target.value = ''
            }}
          />
        </label>
        <span aria-live="polite" className="min-w-0 text-sm text-quiet">
          {value !== '' && <FileState name={file?.name} length={value.length} />}
        </span>
      </div>
    </div>
  )
}

function FileState({ name, length }: { name: string | undefined; length: number }) {
  const size = `${length.toLocaleString('en')} characters`
  return name === undefined ? (
    size
  ) : (
    <>
      <bdi>{name}</bdi>, {size}
    </>
  )
}
