/** The admin area: by the session of a local operator, or by the admin token, which is only in this page's memory. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createAdminClient } from '@sallyport/sdk'
import type { AdminClient } from '@sallyport/sdk'
import { useEffect, useState } from 'react'
import { Link, Route, Switch } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { Loading } from '../../ui/loading.tsx'
import { isProblem } from '../../ui/problem.ts'
import { watchedFetch } from '../../ui/reachability.ts'
import { Card, View } from '../../ui/view.tsx'
import { PauseServiceButton, ServicePausedNotice } from '../pause.tsx'
import { service } from '../service.ts'
import { Frame, Sidebar } from '../shell.tsx'
import type { Place } from '../shell.tsx'
import { Agents } from './agents.tsx'
import { Health } from './health.tsx'
import { Providers } from './providers.tsx'
import { Users } from './users.tsx'

const places: Place[] = [
  { path: '/admin', name: 'Providers', icon: 'connections', covers: /^\/admin(?:\/providers\/[^/]+)?\/?$/ },
  { path: '/admin/agents', name: 'Agents', icon: 'agents' },
  { path: '/admin/users', name: 'Users', icon: 'account' },
  { path: '/admin/health', name: 'Health', icon: 'activity' },
]

const asOperator = createAdminClient({ baseUrl: location.origin, asOperator: true, fetch: watchedFetch })

/** The session of a local operator needs no token. Null if there is no such session. */
function useOperator() {
  return useQuery({
    queryKey: ['operator'],
    queryFn: async () => {
      try {
        return (await service.auth.me()).operator ? asOperator : null
      } catch (problem) {
        if (isProblem(problem, 'unauthenticated')) return null
        throw problem
      }
    },
  })
}

export function Admin() {
  const operator = useOperator()
  const [given, setGiven] = useState<AdminClient>()
  useForgetting(given)
  if (operator.isPending) {
    return (
      <Frame>
        <Loading />
      </Frame>
    )
  }
  const admin = given ?? operator.data
  if (!admin) {
    return (
      <Frame>
        <AdminToken onGiven={setGiven} />
      </Frame>
    )
  }
  const lock = (
    <Action
      look="bare"
      act={() => {
        setGiven(undefined)
      }}
    >
      Lock admin
    </Action>
  )
  const home = (
    <Link href="/" className={buttonLook('bare')}>
      Back to Home
    </Link>
  )
  return (
    <Sidebar
      label="Administration"
      places={places}
      end={
        <>
          <PauseServiceButton admin={admin} />
          {given ? lock : home}
        </>
      }
    >
      <ServicePausedNotice admin={admin} />
      <Switch>
        <Route path="/admin/agents">
          <Agents admin={admin} />
        </Route>
        <Route path="/admin/users">
          <Users admin={admin} />
        </Route>
        <Route path="/admin/health">
          <Health admin={admin} />
        </Route>
        <Route path="/admin/providers/:slug">{({ slug }) => <Providers admin={admin} slug={slug} />}</Route>
        <Route>
          <Providers admin={admin} />
        </Route>
      </Switch>
    </Sidebar>
  )
}

/** Clears the cached admin data when the token is removed. */
function useForgetting(admin: AdminClient | undefined): void {
  const queries = useQueryClient()
  useEffect(
    () => () => {
      if (admin) queries.removeQueries({ queryKey: ['admin'] })
    },
    [queries, admin],
  )
}

function AdminToken({ onGiven }: { onGiven: (admin: AdminClient) => void }) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const unlock = async () => {
    setProblem(undefined)
    const admin = await adminWith(token.trim())
    if (admin) onGiven(admin)
    else setProblem('This token is not valid. Admin tokens start with sp_admin_.')
  }
  return (
    <View title="Administration" lead="For the administrators of this service.">
      <Card>
        <Form>
          <Field
            label="Admin token"
            type="password"
            note="The service prints the path of the file that holds it when it starts. It is kept only in this page’s memory: if you reload, enter it again."
            value={token}
            problem={problem}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => {
              setToken(event.target.value)
            }}
          />
          <Action look="main" submits act={unlock}>
            Continue
          </Action>
        </Form>
      </Card>
    </View>
  )
}

async function adminWith(adminToken: string): Promise<AdminClient | undefined> {
  // Not a valid header value, so not a token.
  if (!/^[\x21-\x7e]+$/.test(adminToken)) return undefined
  const admin = createAdminClient({ baseUrl: location.origin, adminToken, fetch: watchedFetch })
  try {
    await admin.users.list({ limit: 1 }).page()
    return admin
  } catch (error) {
    if (isProblem(error, 'unauthenticated', 'forbidden')) return undefined
    throw error
  }
}
