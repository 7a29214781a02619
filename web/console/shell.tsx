/** The frames of the views: navigation, the signed-in user, and messages. */
import type { ReactNode } from 'react'
import { Link, useRoute } from 'wouter'
import type { User } from '@sallyport/sdk'
import { AwayBanner } from '../ui/away-banner.tsx'
import { Icon } from '../ui/icons.tsx'
import type { IconName } from '../ui/icons.tsx'
import { MessageLine } from '../ui/message.tsx'
import { useHeldCalls, useWaitingRequests } from './lists.ts'
import { useLive } from './live.ts'
import { PauseButton, PausedNotice } from './pause.tsx'
import { nameOf } from './session.ts'
import { useSignals } from './signals/use-signals.ts'

const places: Place[] = [
  { path: '/', name: 'Home', icon: 'home' },
  { path: '/connections', name: 'Connections', icon: 'connections' },
  { path: '/grants', name: 'Grants', icon: 'grants' },
  { path: '/activity', name: 'Activity', icon: 'activity' },
  { path: '/devices', name: 'Devices', icon: 'devices' },
]

export function Shell({ user, children }: { user: User; children: ReactNode }) {
  useLive()
  useSignals(user)
  return (
    <Sidebar
      label="Console"
      places={places}
      end={
        <>
          <PauseButton />
          <Link
            href="/account"
            className="flex min-h-10 max-w-48 items-center gap-2 rounded-lg px-3 text-sm font-medium hover:bg-raised"
          >
            <Icon name="account" />
            <span className="sr-only">Signed in as </span>
            <bdi className="truncate">{nameOf(user)}</bdi>
          </Link>
        </>
      }
    >
      <PausedNotice />
      {children}
    </Sidebar>
  )
}

export interface Place {
  path: string
  name: string
  icon: IconName
  /** The views that count as this place. Default: those below its path. */
  covers?: RegExp
}

interface SidebarProps {
  label: string
  places: readonly Place[]
  /** Below the places, or on a narrow screen beside the name. */
  end: ReactNode
  children: ReactNode
}

/** The navigation stands at the side, and on a narrow screen at the bottom. */
export function Sidebar({ label, places: listed, end, children }: SidebarProps) {
  return (
    <div className="lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <header className="sticky top-0 short:static z-10 flex items-center justify-between border-b border-line bg-ground px-4 py-3 lg:h-dvh lg:flex-col lg:items-stretch lg:justify-start lg:gap-6 lg:border-r lg:border-b-0 lg:px-4 lg:py-6">
        <Brand />
        <nav
          aria-label={label}
          className="fixed inset-x-0 bottom-0 z-10 grid auto-cols-fr grid-flow-col border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] lg:static lg:flex lg:flex-1 lg:flex-col lg:gap-1 lg:border-0 lg:bg-transparent"
        >
          {listed.map((place) => (
            <PlaceLink key={place.path} {...place} />
          ))}
        </nav>
        <div className="flex items-center gap-1 lg:flex-col lg:items-stretch lg:[&>a]:justify-start lg:[&>a]:px-3 lg:[&>button]:justify-start lg:[&>button]:px-3">
          {end}
        </div>
      </header>
      <main className="mx-auto w-full max-w-240 space-y-4 px-4 pt-6 pb-28 sm:px-8 lg:pt-12 lg:pb-16 2xl:max-w-400">
        <MessageLine />
        <AwayBanner />
        {children}
      </main>
    </div>
  )
}

function PlaceLink({ path, name, icon, covers }: Place) {
  const [isBelow] = useRoute(covers ?? (path === '/' ? '/' : `${path}/*?`))
  return (
    <Link
      href={path}
      aria-current={isBelow ? 'page' : undefined}
      className="relative flex flex-col items-center gap-1 py-2 text-[0.625rem] font-medium tracking-tight whitespace-nowrap min-[22.5rem]:text-[0.6875rem] min-[22.5rem]:tracking-normal text-quiet hover:text-ink aria-[current=page]:text-accent lg:min-h-10 lg:flex-row lg:gap-3 lg:rounded-lg lg:px-3 lg:py-1.5 lg:text-sm lg:hover:bg-raised lg:aria-[current=page]:bg-accent-soft"
    >
      <Icon name={icon} />
      {name}
      {path === '/' && <WaitingCount />}
    </Link>
  )
}

/** The number of pending requests and calls, visible in every view. */
function WaitingCount() {
  const { data: requests = [] } = useWaitingRequests()
  const { data: calls = [] } = useHeldCalls()
  const waiting = requests.length + calls.length
  if (waiting === 0) return null
  return (
    <span className="absolute start-[calc(50%+0.375rem)] top-1 rounded-full bg-accent px-1.5 text-[0.6875rem] leading-4 font-semibold text-on-accent tabular-nums lg:static lg:ms-auto">
      {waiting > 99 ? '99+' : waiting}
      <span className="sr-only"> {waiting === 1 ? 'pending request' : 'pending requests'}</span>
    </span>
  )
}

function Brand() {
  return (
    <Link href="/" className="flex items-center gap-2.5 rounded-lg px-1 font-semibold tracking-tight lg:px-3">
      <img src="/favicon.svg" alt="" width="26" height="26" />
      Sallyport
    </Link>
  )
}

/** The frame of views without navigation: sign-in and approval. */
export function Frame({ children }: { children: ReactNode }) {
  return (
    <div className="mx-auto max-w-3xl px-4 pb-4 sm:px-8 sm:pb-16">
      <header className="-mx-1 py-2 sm:py-5 lg:-mx-3">
        <Brand />
      </header>
      <main className="space-y-4">
        <MessageLine />
        <AwayBanner />
        {children}
      </main>
    </div>
  )
}
