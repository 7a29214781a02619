/** Icons on a 24-pixel grid, as strokes in the text color. Decorative only. */
const shapes = {
  home: 'M3 11.5 12 4l9 7.5M5.5 9.8V20h13V9.8M10 20v-5.5h4V20',
  connections:
    'M9.5 14.5l5-5M8 11l-2.2 2.2a3.8 3.8 0 0 0 5.4 5.4L13.4 16.4M16 13l2.2-2.2a3.8 3.8 0 0 0-5.4-5.4L10.6 7.6',
  grants: 'M12 3l7.5 3v5.5c0 4.6-3.1 7.9-7.5 9.5-4.4-1.6-7.5-4.9-7.5-9.5V6zM8.8 12l2.3 2.3 4.3-4.6',
  activity: 'M3 12h4l2.5-7 5 14L17 12h4',
  devices: 'M7 3.5h10a1 1 0 0 1 1 1v15a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1v-15a1 1 0 0 1 1-1zM10.5 17.5h3',
  account: 'M12 12.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20c.8-3.4 3.8-5 7.5-5s6.7 1.6 7.5 5',
  agents:
    'M6 8.5h12a1.5 1.5 0 0 1 1.5 1.5v8a1.5 1.5 0 0 1-1.5 1.5H6A1.5 1.5 0 0 1 4.5 18v-8A1.5 1.5 0 0 1 6 8.5zM12 8.5v-4M9.3 13v2M14.7 13v2',
  pause: 'M8.5 5v14M15.5 5v14',
  resume: 'M7.5 4.5v15l12-7.5z',
  admin:
    'M4 7h9M17 7h3M4 17h3M11 17h9M15 9.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM9 19.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z',
} as const

export type IconName = keyof typeof shapes

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 24 24" className="size-5 shrink-0" aria-hidden="true" fill="none" stroke="currentColor">
      <path d={shapes[name]} strokeWidth="1.75" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  )
}
