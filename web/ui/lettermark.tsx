/** Stands for a provider without its logo. Its letter is that of a name which may be anyone's. */
export function Lettermark({ name }: { name: string }) {
  const [letter = '?'] = [...new Intl.Segmenter('en').segment(name.trim())].map(({ segment }) => segment)
  return (
    <span
      aria-hidden="true"
      className="grid size-9 shrink-0 place-items-center overflow-hidden rounded-lg bg-accent-soft font-semibold text-accent uppercase"
    >
      {letter}
    </span>
  )
}
