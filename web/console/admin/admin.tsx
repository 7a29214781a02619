/** The admin area: by the session of a local operator, or by the admin token, which is only in this page's memory. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createAdminClient } from '@sallyport/sdk'
import type { AdminClient } from '@sallyport/sdk'
import { useEffect, useState } from 'react'
import { Link, Route, Switch, useRoute } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Field, Form } from '../../ui/field.tsx'
import { Loading } from '../../ui/loading.tsx'
import { isProblem } from '../../ui/problem.ts'
import { watchedFetch } from '../../ui/reachability.ts'
import { Card, View } from '../../ui/view.tsx'
import { ServicePause } from '../pause.tsx'
import { service } from '../service.ts'
import { Agents } from './agents.tsx'
import { Health } from './health.tsx'
import { Providers } from './providers.tsx'
import { Users } from './users.tsx'

const parts = [
  { path: '/admin', name: 'Providers' },
  { path: '/admin/agents', name: 'Agents' },
  { path: '/admin/users', name: 'Users' },
  { path: '/admin/health', name: 'Health' },
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
  if (operator.isPending) return <Loading />
  const admin = given ?? operator.data
  if (!admin) return <AdminToken onGiven={setGiven} />
  return (
    <>
      <nav aria-label="Administration" className="flex flex-wrap items-center gap-1 border-b border-line pb-2">
        {parts.map((part) => (
          <Part key={part.path} {...part} />
        ))}
        <span className="ml-auto">
          {given ? (
            <Action
              look="bare"
              act={() => {
                setGiven(undefined)
              }}
            >
              Lock admin
            </Action>
          ) : (
            <Link href="/" className={buttonLook('bare')}>
              Back to Home
            </Link>
          )}
        </span>
      </nav>
      <ServicePause admin={admin} />
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
    </>
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

function Part({ path, name }: { path: string; name: string }) {
  const [isThis] = useRoute(path)
  const [isBelow] = useRoute('/admin/providers/:slug')
  const isHere = isThis || (path === '/admin' && isBelow)
  return (
    <Link
      href={path}
      aria-current={isHere ? 'page' : undefined}
      className="rounded-lg px-3 py-2 text-sm font-medium text-quiet hover:bg-raised hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent"
    >
      {name}
    </Link>
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
