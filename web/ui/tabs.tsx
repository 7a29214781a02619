import { useId } from 'react'

interface TabsProps<Name extends string> {
  label: string
  tabs: Readonly<Record<Name, string>>
  chosen: Name
  onChoose: (name: Name) => void
}

/** A choice between a few options. Accessible as radio buttons. */
export function Tabs<Name extends string>({ label, tabs, chosen, onChoose }: TabsProps<Name>) {
  const group = useId()
  return (
    <fieldset className="inline-flex max-w-full flex-wrap gap-1 rounded-lg border border-line bg-raised p-1">
      <legend className="sr-only">{label}</legend>
      {(Object.keys(tabs) as Name[]).map((name) => (
        <label
          key={name}
          className="rounded-md px-3 py-1.5 text-sm font-medium text-quiet has-checked:bg-surface has-checked:text-ink has-checked:shadow-xs has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={group}
            className="sr-only"
            checked={name === chosen}
            onChange={() => {
              onChoose(name)
            }}
          />
          {tabs[name]}
        </label>
      ))}
    </fieldset>
  )
}
