import { Choice, Choices } from '../../ui/field.tsx'
import { isReading } from './reach.ts'
import type { PartProps } from './terms-form.tsx'
import { offerOf, problemAt } from './terms.ts'
import type { Choices as Chosen } from './terms.ts'

const lists = new Intl.ListFormat('en', { type: 'conjunction' })

export function Methods({ asked, choices, faults, onChange }: PartProps) {
  const { eachMethod } = offerOf(asked)
  const radio = (permissions: Chosen['permissions']) => ({
    type: 'radio' as const,
    name: 'permissions',
    checked: choices.permissions === permissions,
    onChange: () => {
      onChange({ ...choices, permissions })
    },
  })
  return (
    <Choices legend="Permissions" problem={problemAt(faults, 'someMethods')}>
      {asked.methods ? (
        <Choice {...radio('asked')} label="Everything it asked for" note={<bdi>{lists.format(asked.methods)}</bdi>} />
      ) : (
        <Choice {...radio('asked')} label="Read, change and delete" note="any method" />
      )}
      <Choice {...radio('write')} label="Read and change" note="nothing that deletes" />
      <Choice {...radio('read')} label="Read only" note="whatever the method, GraphQL queries too" />
      {eachMethod.length > 1 && <Choice {...radio('some')} label="Selected methods" />}
      {choices.permissions === 'some' && (
        <div role="group" aria-label="Methods" className="flex flex-wrap gap-x-4 pl-7">
          {eachMethod.map((method) => (
            <Choice
              key={method}
              type="checkbox"
              name="someMethods"
              checked={choices.someMethods.includes(method)}
              onChange={({ target }) => {
                const others = choices.someMethods.filter((one) => one !== method)
                onChange({ ...choices, someMethods: target.checked ? [...others, method] : others })
              }}
              label={<bdi>{method}</bdi>}
              note={
                !isReading(method) && <span className="sr-only">{method === 'DELETE' ? 'deletes' : 'can change'}</span>
              }
            />
          ))}
        </div>
      )}
    </Choices>
  )
}
