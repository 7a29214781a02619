import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminClient, CreateLoginTokenReply } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { useSay } from '../../ui/message.tsx'
import { Pages } from '../../ui/pages.tsx'
import { faultOf } from '../../ui/problem.ts'
import { Card, Empty, Section, View } from '../../ui/view.tsx'
import { IssuedLink } from './issued-link.tsx'
import { SearchField, useSearch } from './search-field.tsx'
import { UserCard } from './user-card.tsx'

export function Users({ admin }: { admin: AdminClient }) {
  const search = useSearch()
  const { query } = search
  const users = useInfiniteQuery({
    queryKey: ['admin', 'users', query],
    queryFn: ({ pageParam, signal }) => admin.users.list({ ...(query && { query }), ...pageParam }, { signal }).page(),
    placeholderData: (before) => before,
    initialPageParam: {},
    getNextPageParam: ({ next_cursor: cursor }) => (cursor === null ? undefined : { cursor }),
  })
  return (
    <View title="Users" lead="Users sign in with a one-time link, or with the login providers you have configured.">
      <SignInLink admin={admin} />
      <Section title="All users">
        <SearchField search={search} label="Search users" placeholder="Name, email address or ID" />
        <Pages
          query={users}
          recordsOf={(page) => page.users}
          empty={<Empty title={query ? 'No matches' : 'No users yet'} />}
        >
          {(user) => <UserCard key={user.user_id} admin={admin} user={user} />}
        </Pages>
      </Section>
    </View>
  )
}

function SignInLink({ admin }: { admin: AdminClient }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [fault, setFault] = useState<{ field: string; text: string }>()
  const [issued, setIssued] = useState<CreateLoginTokenReply>()
  const issue = async () => {
    setIssued(undefined)
    setFault(undefined)
    if (email.trim() === '' && name.trim() === '') {
      setFault({ field: 'email', text: 'Enter the user’s email address, or the name of a new user.' })
      return
    }
    const whom = { ...(email.trim() && { email: email.trim() }), ...(name.trim() && { name: name.trim() }) }
    try {
      setIssued(await admin.createLoginToken(whom))
    } catch (problem) {
      const found = faultOf(problem, ['email', 'name'])
      if (!found) throw problem
      setFault(found)
      return
    }
    say('Link created. It works once.')
    await queries.invalidateQueries({ queryKey: ['admin', 'users'] })
  }
  return (
    <Card label="Sign-in link">
      <Form>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label="Email address"
            type="email"
            value={email}
            problem={fault?.field === 'email' ? fault.text : undefined}
            autoComplete="off"
            onChange={(event) => {
              setEmail(event.target.value)
            }}
          />
          <Field
            label="Name (new users)"
            value={name}
            problem={fault?.field === 'name' ? fault.text : undefined}
            autoComplete="off"
            onChange={(event) => {
              setName(event.target.value)
            }}
          />
        </div>
        <Action look="main" submits act={issue}>
          Create sign-in link
        </Action>
        {issued && <IssuedLink issued={issued} />}
      </Form>
    </Card>
  )
}
