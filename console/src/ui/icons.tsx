// Icons always have a label beside them or an accessible name on their button.

const PATHS = {
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3',
  theme: 'M8 2.5v11A5.5 5.5 0 0 0 8 2.5ZM8 2.5a5.5 5.5 0 0 0 0 11',
  signOut: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
  help: 'M6 6a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M8 12h.01M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z',
} as const

export const Icon = ({ name }: { readonly name: keyof typeof PATHS }) => <Drawing path={PATHS[name]} />

/** The icon of a page comes with its row. */
export const Drawing = ({ path }: { readonly path: string }) => (
  <svg
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.4"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d={path} stroke-linejoin="round" />
  </svg>
)

/** A door that is ajar. */
export const Logo = () => (
  <svg viewBox="0 0 18 18" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
    <path d="M3 16V2h12v14M3 16h12M3 2l7 2.5V16" stroke-linejoin="round" />
    <path d="M7.5 9.5h.01" stroke-width="2.2" stroke-linecap="round" />
  </svg>
)
