// Icons always have a label beside them or an accessible name on their button.

const PATHS = {
  overview: 'M2 13h12M4 11V7M8 11V3M12 11V6',
  users:
    'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3.2a2.5 2.5 0 0 1 0 4.6M12.5 9.8c1.2.6 2 1.9 2 3.7',
  administrators: 'M8 1.5 13 3.5v4c0 3.3-2 5.6-5 7-3-1.4-5-3.7-5-7v-4l5-2ZM6 8l1.5 1.5L10.2 6.5',
  roles: 'M2 2h5.5L14 8.5 8.5 14 2 7.5V2ZM5 5h.01',
  databases:
    'M8 6c3 0 5.5-.9 5.5-2S11 2 8 2 2.5 2.9 2.5 4 5 6 8 6ZM2.5 4v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  sessions: 'M1.5 2.5h13v8.5h-13zM5.5 14h5M8 11v3M8 4.7v2.3l1.7 1',
  policy: 'M5 1.5h6v13H5zM7 12.5h2M6.5 6.5l1.2 1.2 2-2.4',
  secrets: 'M10 6.5a3 3 0 1 0-2.4 2.9L9 11h2v2h2.5v-2.2L9.8 7.2c.1-.2.2-.5.2-.7ZM6.5 6h.01',
  settings: 'M2 4h7M13 4h1M11 2.5v3M2 8h2M8 8h6M6 6.5v3M2 12h8M14 12h0M12 10.5v3',
  audit: 'M3.5 1.5h6l3 3v10h-9v-13ZM5.5 7h5M5.5 9.5h5M5.5 12h3',
  nodes: 'M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01',
  account: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c0-3 2.4-4.5 5.5-4.5s5.5 1.5 5.5 4.5',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3',
  theme: 'M8 2.5v11A5.5 5.5 0 0 0 8 2.5ZM8 2.5a5.5 5.5 0 0 0 0 11',
  signOut: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
  help: 'M6 6a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M8 12h.01M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z',
} as const

export type IconName = keyof typeof PATHS

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.4"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d={PATHS[name]} stroke-linejoin="round" />
  </svg>
)

/** A door that is ajar. */
export const Logo = () => (
  <svg viewBox="0 0 18 18" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
    <path d="M3 16V2h12v14M3 16h12M3 2l7 2.5V16" stroke-linejoin="round" />
    <path d="M7.5 9.5h.01" stroke-width="2.2" stroke-linecap="round" />
  </svg>
)
