import { Choice, Choices, Lines } from '../../ui/field.tsx'

export interface Denial {
  reason: string
  isBlocking: boolean
}

export function IfDenied({ denial, onChange }: { denial: Denial; onChange: (denial: Denial) => void }) {
  return (
    <Choices legend="If you deny">
      <div className="space-y-3">
        <Lines
          label="Reason"
          note="Optional. Shown to the agent."
          name="reason"
          maxLength={1000}
          value={denial.reason}
          onChange={(reason) => {
            onChange({ ...denial, reason })
          }}
        />
        <Choice
          type="checkbox"
          name="block"
          checked={denial.isBlocking}
          onChange={({ target }) => {
            onChange({ ...denial, isBlocking: target.checked })
          }}
          label="Don’t notify me about this agent again"
        />
      </div>
    </Choices>
  )
}
