export type Theme = 'system' | 'light' | 'dark'

export const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
export const KEY = 'cardea-theme'
const SYSTEM = matchMedia('(prefers-color-scheme: dark)')

const isTheme = (value: string | null): value is Theme => value !== null && value in NEXT

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return isTheme(stored) ? stored : 'system'
}

const resolve = (theme: Theme): string => (theme === 'system' ? (SYSTEM.matches ? 'dark' : 'light') : theme)

/** Sets the tokens of the chosen theme. Charts read them when this changes. */
export function applyTheme(theme: Theme = readTheme()): void {
  document.documentElement.dataset['theme'] = resolve(theme)
  dispatchEvent(new Event('themechange'))
}

SYSTEM.addEventListener('change', () => applyTheme())
