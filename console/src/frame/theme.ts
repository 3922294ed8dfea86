import { useEffect, useState } from 'preact/hooks'
import { applyTheme, KEY, NEXT, readTheme, type Theme } from './apply-theme.ts'

export function useTheme(): readonly [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => {
    localStorage.setItem(KEY, theme)
    applyTheme(theme)
  }, [theme])
  return [theme, () => setTheme((last) => NEXT[last])]
}
