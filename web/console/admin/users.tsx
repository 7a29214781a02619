import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { AdminClient, CreateLoginTokenReply, User } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Field, Form, inputLook } from '../../ui/field.tsx'
import { useSay } from '../../ui/message.tsx'
import { Pages } from '../../ui/pages.tsx'
import { faultOf } from '../../ui/problem.ts'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Empty, Section, Theirs, View } from '../../ui/view.tsx'

export function Users({ admin }: { admin: AdminClient }) {
  const users = useInfiniteQuery({
    queryKey: ['admin', 'users'],
    queryFn: ({ pageParam, signal }) => admin.users.list({ ...pageParam }, { signal }).page(),
    initialPageParam: {},
    getNextPageParam: ({ next_cursor: cursor }) => (cursor === null ? undefined : { cursor }),
  })
  return (
    <View title="Users" lead="Users sign in with a one-time link, or with the login providers you have configured.">
      <SignInLink admin={admin} />
      <Section title="All users">
        <Pages query={users} recordsOf={(page) => page.users} empty={<Empty title="No users yet" />}>
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

function IssuedLink({ issued }: { issued: CreateLoginTokenReply }) {
  const id = useId()
  return (
    <div className="w-full space-y-1">
      <label htmlFor={id} className="text-sm font-semibold">
        Send this link to the user and no one else
      </label>
      <div className="flex gap-2">
        <input id={id} readOnly className={`${inputLook} font-mono text-xs`} value={issued.login_url} />
        <CopyButton text={issued.login_url} label="Copy the link" />
      </div>
      <p className="text-sm text-quiet">
        It expires <Moment at={issued.expires_at} /> and is shown only once.
      </p>
    </div>
  )
}

function UserCard({ admin, user }: { admin: AdminClient; user: User }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const name = user.name ?? user.email ?? user.user_id
  const [issued, setIssued] = useState<CreateLoginTokenReply>()
  const issue = async () => {
    setIssued(await admin.createLoginToken({ user_id: user.user_id }))
    say('Link created. It works once.')
  }
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['admin', 'users'] })
    say(text)
  }
  return (
    <li>
      <Card>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <div className="min-w-0">
            <p className="flex flex-wrap items-center gap-2">
              <Theirs>{name}</Theirs>
              {user.status === 'disabled' && <Badge tone="bad">disabled</Badge>}
              {user.require_device_approval && <Badge>approves on device only</Badge>}
            </p>
            <p className="text-sm text-quiet">
              {user.email && user.email !== name && (
                <>
                  <bdi>{user.email}</bdi>,{' '}
                </>
              )}
              member since <Moment at={user.created_at} />
            </p>
            <p className="font-mono text-xs text-quiet">{user.user_id}</p>
          </div>
          {user.status === 'active' && (
            <div className="flex flex-wrap gap-2">
              <Action act={issue} label={`Sign-in link for ${name}`}>
                Sign-in link
              </Action>
              {user.require_device_approval && (
                <Confirm
                  opener="Lost devices"
                  openerLabel={`Lost devices: ${name}`}
                  title="Let this user approve without a device?"
                  verb="Remove requirement"
                  act={() =>
                    change(
                      () => admin.users.resetDeviceApproval(user.user_id),
                      'The user can approve in the console again.',
                    )
                  }
                >
                  <p>Confirm the user’s identity first: an attacker would ask for exactly this.</p>
                </Confirm>
              )}
              <Confirm
                opener="Disable"
                openerLabel={`Disable ${name}`}
                title="Disable this user?"
                verb="Disable"
                act={() =>
                  change(() => admin.users.disable(user.user_id), 'The user is disabled and their grants have ended.')
                }
              >
                <p>
                  <Theirs>{name}</Theirs> will be signed out everywhere, and no agent can act for them anymore.
                </p>
              </Confirm>
            </div>
          )}
          {issued && <IssuedLink issued={issued} />}
        </div>
      </Card>
    </li>
  )
}
