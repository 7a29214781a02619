/** A QR code. Always dark on light, even in dark mode, as cameras expect. */
import { encode } from 'uqr'

export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 2 })
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      className="w-full max-w-56 rounded-lg bg-white"
      shapeRendering="crispEdges"
    >
      <path d={squares.join('')} fill="#000" />
    </svg>
  )
}
