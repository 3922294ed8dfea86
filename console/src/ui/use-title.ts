import { useLayoutEffect } from 'preact/hooks'
import { texts } from '../texts.ts'

/** The title of the window: what is open, the page, the product. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts, texts.product].filter(Boolean).join(' · ')
  useLayoutEffect(() => {
    document.title = title
  }, [title])
}
