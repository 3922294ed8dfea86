import { useCallback, useLayoutEffect, useState } from 'preact/hooks'

/** Data of the server as a page shows it: while it is loaded again, the last value stays. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

interface State<T> {
  readonly key: string
  readonly data: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

const begin = (key: string) => ({ key, data: undefined, error: undefined, isLoading: true })

/** Loads again when `key` changes. A value of an earlier key is shown only with `keepsLast`, as in a list while typing. */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { keepsLast = false }: { readonly keepsLast?: boolean } = {},
): Resource<T> {
  const [state, setState] = useState<State<T>>(() => begin(key))
  const [round, setRound] = useState(0)
  // before the next paint, which an ordinary effect would wait for
  useLayoutEffect(() => {
    const abort = new AbortController()
    setState((last) => (last.key === key || keepsLast ? { ...last, key, isLoading: true } : begin(key)))
    load(abort.signal).then(
      (data) => abort.signal.aborted || setState({ key, data, error: undefined, isLoading: false }),
      (error: unknown) =>
        abort.signal.aborted || setState((last) => ({ ...last, key, error, isLoading: false, data: undefined })),
    )
    return () => abort.abort()
  }, [key, round])
  const reload = useCallback(() => setRound((last) => last + 1), [])
  const isCurrent = state.key === key || keepsLast
  return { ...(isCurrent ? state : begin(key)), reload }
}
