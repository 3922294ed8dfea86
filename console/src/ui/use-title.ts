import { useLayoutEffect } from 'preact/hooks'
import { instanceName } from '../api/client.ts'
import { shared } from '../texts.ts'

/** The title of the window: what is open, the page, the installation. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts, instanceName || shared.product].filter(Boolean).join(' · ')
  useLayoutEffect(() => {
    document.title = title
  }, [title])
}
