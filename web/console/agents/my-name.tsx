/** What the user calls an agent, beside the name that the agent chose itself. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { useSay } from '../../ui/message.tsx'
import { faultOf } from '../../ui/problem.ts'
import { Card, focusHeading } from '../../ui/view.tsx'
import { service } from '../service.ts'

export function useAgentNames() {
  return useQuery({
    queryKey: ['agent-names'],
    queryFn: ({ signal }) => service.agentNames.list({ limit: 200 }, { signal }).all(),
    select: (all) => new Map(all.map(({ agent_id: id, name }) => [id, name])),
  })
}

export function MyName({ agentId }: { agentId: string }) {
  const name = useAgentNames().data?.get(agentId)
  if (name === undefined) return null
  return (
    <span className="text-base font-normal tracking-normal wrap-anywhere text-quiet">
      you call it “<bdi>{name}</bdi>”
    </span>
  )
}

/** `onDone`: saved or given up. */
export function Rename({ agentId, onDone }: { agentId: string; onDone: () => void }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const before = useAgentNames().data?.get(agentId) ?? ''
  const [name, setName] = useState(before)
  const [problem, setProblem] = useState<string>()
  const become = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['agent-names'] })
    onDone()
    focusHeading()
    say(text)
  }
  const save = async () => {
    setProblem(name.trim() === '' ? 'Enter a name.' : undefined)
    if (name.trim() === '') return
    try {
      await become(() => service.agentNames.put(agentId, name.trim()), 'The name was saved. Only you see it.')
    } catch (error) {
      const fault = faultOf(error, ['name'])
      if (!fault) throw error
      setProblem(fault.text)
    }
  }
  return (
    <Card label="Rename for me">
      <Form>
        <Field
          label="Your name for this agent"
          note="Only you see it, beside the agent’s own name."
          value={name}
          maxLength={100}
          problem={problem}
          autoComplete="off"
          autoFocus
          onChange={({ target }) => {
            setName(target.value)
          }}
        />
        <div className="flex flex-wrap gap-2">
          <Action look="main" submits act={save}>
            Save name
          </Action>
          {before !== '' && (
            <Action act={() => become(() => service.agentNames.drop(agentId), 'Your name for the agent was removed.')}>
              Remove my name
            </Action>
          )}
          <Action act={onDone}>Cancel</Action>
        </div>
      </Form>
    </Card>
  )
}
