import { Action } from '../../ui/action.tsx'
import { Choices, Field, inputLook, Lines } from '../../ui/field.tsx'
import { actions, mostRules, newRule } from './exceptions.ts'
import type { Rule } from './exceptions.ts'
import type { Fault } from './terms.ts'

type RuleFault = Pick<Fault, 'at' | 'part' | 'text'>

interface ExceptionsProps {
  rules: Rule[]
  /** Of single rules. */
  faults: readonly RuleFault[]
  onChange: (rules: Rule[]) => void
}

export function Exceptions({ rules, faults, onChange: become }: ExceptionsProps) {
  return (
    <Choices legend="Exceptions">
      <p className="px-2 text-sm text-quiet">
        Paths with a rule of their own. If several match, the strictest applies.
      </p>
      <ul className="space-y-3">
        {rules.map((rule, index) => (
          <li key={rule.id} className="rounded-lg border border-line bg-raised p-3">
            <Exception
              rule={rule}
              number={index + 1}
              fault={faults.find(({ at }) => at === index)}
              onChange={(changed) => {
                become(rules.map((one) => (one.id === rule.id ? changed : one)))
              }}
              onRemove={() => {
                become(rules.filter(({ id }) => id !== rule.id))
              }}
            />
          </li>
        ))}
      </ul>
      {rules.length < mostRules && (
        <div className="px-2 pt-1">
          <Action
            act={() => {
              become([...rules, newRule(rules)])
            }}
          >
            Add an exception
          </Action>
        </div>
      )}
    </Choices>
  )
}

interface ExceptionProps {
  rule: Rule
  number: number
  fault: RuleFault | undefined
  onChange: (rule: Rule) => void
  onRemove: () => void
}

function Exception({ rule, number, fault, onChange, onRemove }: ExceptionProps) {
  return (
    <div role="group" aria-label={`Exception ${number}`} className="space-y-3">
      <div className="flex items-center justify-between gap-2">
        <select
          aria-label="What happens"
          name="exceptions"
          className={`${inputLook} min-w-0`}
          value={rule.action}
          onChange={({ target }) => {
            onChange({ ...rule, action: target.value as Rule['action'] })
          }}
        >
          {Object.entries(actions).map(([action, label]) => (
            <option key={action} value={action}>
              {label}
            </option>
          ))}
        </select>
        <Action look="bare" act={onRemove} label={`Remove exception ${number}`}>
          Remove
        </Action>
      </div>
      <Lines
        label="Paths, one per line"
        note="Each covers everything under it."
        name="exceptionPaths"
        problem={fault?.part === 'exceptionMethods' ? undefined : fault?.text}
        value={rule.paths}
        onChange={(paths) => {
          onChange({ ...rule, paths })
        }}
      />
      <Field
        label="Methods"
        note="Leave blank for any."
        name="exceptionMethods"
        problem={fault?.part === 'exceptionMethods' ? fault.text : undefined}
        placeholder="POST, DELETE"
        autoCapitalize="characters"
        autoComplete="off"
        spellCheck={false}
        value={rule.methods}
        onChange={({ target }) => {
          onChange({ ...rule, methods: target.value })
        }}
      />
    </div>
  )
}
