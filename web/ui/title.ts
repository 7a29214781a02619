/** The tab's title: the view that is shown, and before it how much waits for the user. */
let view = ''
let waiting = 0

export function titleOf(name: string, count: number): string {
  const before = count === 0 ? '' : `(${count > 99 ? '99+' : count}) `
  return `${before}${name} · Sallyport`
}

export function showView(name: string): void {
  view = name
  document.title = titleOf(view, waiting)
}

export function showWaiting(count: number): void {
  waiting = count
  if (view !== '') document.title = titleOf(view, waiting)
}
