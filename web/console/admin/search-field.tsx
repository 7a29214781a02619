/** Searches a list on the server, once typing has stopped. */
import { useEffect, useState } from 'react'
import { Field } from '../../ui/field.tsx'

const stoppedTypingMs = 250

export interface Search {
  typed: string
  setTyped: (typed: string) => void
  /** What to search for now. */
  query: string
}

export function useSearch(): Search {
  const [typed, setTyped] = useState('')
  const [query, setQuery] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => {
      setQuery(typed.trim())
    }, stoppedTypingMs)
    return () => {
      clearTimeout(timer)
    }
  }, [typed])
  return { typed, setTyped, query }
}

export function SearchField({ search, label, placeholder }: { search: Search; label: string; placeholder: string }) {
  return (
    <Field
      label={label}
      type="search"
      placeholder={placeholder}
      maxLength={100}
      autoComplete="off"
      spellCheck={false}
      value={search.typed}
      onChange={({ target }) => {
        search.setTyped(target.value)
      }}
    />
  )
}
