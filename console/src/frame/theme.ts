import { useEffect, useState } from 'preact/hooks'

export type Theme = 'system' | 'light' | 'dark'

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const KEY = 'cardea-theme'
const SYSTEM = matchMedia('(prefers-color-scheme: dark)')

const isTheme = (value: string | null): value is Theme => value !== null && value in NEXT

function readTheme(): Theme {
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

export function useTheme(): readonly [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => {
    localStorage.setItem(KEY, theme)
    applyTheme(theme)
  }, [theme])
  return [theme, () => setTheme((last) => NEXT[last])]
}
