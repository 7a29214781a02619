import { Choice, Choices } from '../../ui/field.tsx'
import type { PartProps } from './terms-form.tsx'
import { modes } from './terms.ts'
import type { Choices as Chosen } from './terms.ts'

export function Mode({ choices, onChange }: PartProps) {
  return (
    <Choices legend="When it makes calls">
      {(Object.keys(modes) as Chosen['mode'][]).map((mode) => (
        <Choice
          key={mode}
          type="radio"
          name="mode"
          checked={choices.mode === mode}
          onChange={() => {
            onChange({ ...choices, mode })
          }}
          label={modes[mode]}
          note={mode === 'ask_writes' && <span className="font-medium text-accent">recommended</span>}
        />
      ))}
    </Choices>
  )
}
