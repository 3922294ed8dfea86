// The address of every state of the page is in the fragment: `#/users/ada?search=a`. It never reaches a server log.
import { useEffect, useState } from 'preact/hooks'

export interface Route {
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

export type Query = Readonly<Record<string, string | undefined>>

export function readRoute(fragment: string): Route {
  const [path = '', query = ''] = splitOnce(fragment.replace(/^#?\/?/, ''), '?')
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The link to a state. Empty values are left out. */
export function toHref(path: readonly string[], query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value)
  const text = params.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`
}

export function navigate(href: string, { replaces = false } = {}): void {
  if (href === location.hash) return
  if (!replaces) {
    location.hash = href
    return
  }
  history.replaceState(null, '', href)
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash))
  useEffect(() => {
    const update = () => setRoute(readRoute(location.hash))
    addEventListener('hashchange', update)
    return () => removeEventListener('hashchange', update)
  }, [])
  return route
}

/** Opens the dialog of this name: it is part of the state of the page. Back closes it. */
export const openDialog = (name: string, more: Query = {}): void =>
  changeQuery({ ...more, do: name }, { replaces: false })

export const closeDialog = (): void => changeQuery({ do: undefined, token: undefined })

/** Changes some values of the query of the current state and keeps the rest. */
export function changeQuery(changes: Query, { replaces = true } = {}): void {
  const { path, query } = readRoute(location.hash)
  navigate(toHref(path, { ...query, ...changes }), { replaces })
}
