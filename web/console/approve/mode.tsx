import { Choice, Choices } from '../../ui/field.tsx'
import { Badge } from '../../ui/view.tsx'
import type { PartProps } from './terms-form.tsx'
import { modes } from './terms.ts'
import type { Choices as Chosen } from './terms.ts'

const notes: Record<Chosen['mode'], string> = {
  allow_all: 'It never waits for you.',
  ask_writes: 'You approve each call that changes or deletes something.',
  ask_all: 'You approve every call.',
}

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
          label={
            <>
              <span className="font-medium">{modes[mode]}</span>
              {mode === 'ask_writes' && (
                <>
                  {' '}
                  <Badge tone="good">Recommended</Badge>
                </>
              )}
            </>
          }
          note={<span className="block">{notes[mode]}</span>}
        />
      ))}
    </Choices>
  )
}
