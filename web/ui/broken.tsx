/** Shown if a page crashed, for example because a file of an older build no longer exists. */
import { createRoot } from 'react-dom/client'
import { buttonLook } from './action.tsx'

/** Renders `page`, or an error page if it crashes. */
export function render(page: React.ReactNode): void {
  const place = document.querySelector('#page')
  if (!place) return
  const root = createRoot(place, {
    onUncaughtError: (problem) => {
      reportError(problem)
      // A root that crashed can't render again.
      queueMicrotask(() => {
        root.unmount()
        createRoot(place).render(<Broken />)
      })
    },
  })
  root.render(page)
}

function Broken() {
  return (
    <main className="mx-auto max-w-xl space-y-4 px-4 py-16">
      <h1 className="text-2xl font-semibold tracking-tight">Something went wrong</h1>
      <p>This page may be out of date. Nothing was changed. Reload to try again.</p>
      <button
        className={buttonLook('main')}
        onClick={() => {
          location.reload()
        }}
      >
        Reload
      </button>
    </main>
  )
}
