/** Shows who the link signs in and waits for a click, so that opening a link has no effect by itself. */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Action } from '../../ui/action.tsx'
import { Loading } from '../../ui/loading.tsx'
import { isProblem } from '../../ui/problem.ts'
import { Moment } from '../../ui/time.tsx'
import { Trouble } from '../../ui/trouble.tsx'
import { Notice, View } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { aboutUser, nameOf, useForgetEverything, useMe } from '../session.ts'
import { forgetLoginToken, noteLinkOver } from './arrival.ts'

/** The service does not reveal whether a token is unknown, used, expired or malformed. */
function isOver(problem: unknown) {
  return isProblem(problem, 'unauthenticated', 'invalid_field')
}

export function SignInLink({ token }: { token: string }) {
  const forgetEverything = useForgetEverything()
  const { data: present } = useMe()
  const preview = useQuery({
    queryKey: ['login-preview', token],
    queryFn: () => service.auth.preview(token),
    gcTime: 0,
  })
  const { error } = preview
  useEffect(() => {
    if (isOver(error)) noteLinkOver(error.requestId)
  }, [error])
  if (preview.isError && !isOver(error)) return <Trouble problem={error} again={() => preview.refetch()} />
  if (!preview.data) return <Loading />
  const { user, expires_at: until } = preview.data
  const signIn = async () => {
    try {
      const reply = await service.auth.login(token)
      await forgetEverything(reply.user)
      forgetLoginToken()
    } catch (problem) {
      if (!isOver(problem)) throw problem
      noteLinkOver(problem.requestId)
    }
  }
  const who = nameOf(user)
  const about = aboutUser(user)
  return (
    <View
      title={`Sign in as ${who}?`}
      heading={
        <>
          Sign in as <bdi>{who}</bdi>?
        </>
      }
      lead={about && <bdi>{about}</bdi>}
    >
      {present && present.user_id !== user.user_id && (
        <Notice>
          You’re signed in as <bdi className="font-semibold">{nameOf(present)}</bdi>. This link signs you in as a
          different user: anything you connect or approve afterwards belongs to them.
        </Notice>
      )}
      <p className="max-w-prose">
        The link works once, until <Moment at={until} />. If you didn’t expect this link, choose “Not now”.
      </p>
      <div className="flex flex-wrap gap-2">
        <Action look="main" act={signIn}>
          Sign in
        </Action>
        <Action act={forgetLoginToken}>Not now</Action>
      </div>
    </View>
  )
}
