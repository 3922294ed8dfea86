import { useEffect, useState } from 'preact/hooks'
import { api, type OptionListView, type UserPageView } from '../api/client.ts'
import { toHref } from '../router.ts'
import { useDebounced } from '../ui/use-debounced.ts'
import type { PageRow } from './page-row.ts'
import { texts } from './texts.ts'

export interface Entry {
  readonly kind: string
  readonly text: string
  readonly href: string
}

const MAX_ENTRIES = 12

/** What the palette offers for a text: pages, commands, users, options and the audit trail. */
export function useEntries(pages: readonly PageRow[], text: string): readonly Entry[] {
  const { verb, rest } = readCommand(text)
  const has = (name: string) => pages.some((page) => page.name === name)
  const names = useUserNames(rest, has('users'))
  const options = useOptionNames(has('settings'))
  const users = names.map((name) => (verb ? toAction(verb, name) : toEntry('user', name, ['users', name])))
  const wanted = text.trim().toLowerCase()
  const found = options.filter((name) => wanted.length > 1 && name.toLowerCase().includes(wanted))
  return [
    ...findFixed(pages, wanted),
    ...users,
    ...found.slice(0, 6).map((name) => toEntry('option', name, ['settings', name])),
    ...(has('audit') && rest !== '' && !verb ? [toAuditEntry(rest)] : []),
  ].slice(0, MAX_ENTRIES)
}

type Kind = 'page' | 'user' | 'option' | 'command'

const toEntry = (kind: Kind, text: string, path: readonly string[]): Entry => ({
  kind: texts.palette[kind],
  text,
  href: toHref(path),
})

type Verb = keyof typeof texts.palette.verbs
const VERBS = Object.keys(texts.palette.verbs) as Verb[]

/** `disable ad` is the command `disable` for users that begin with `ad`. */
function readCommand(text: string): { readonly verb?: Verb; readonly rest: string } {
  const start = text.trimStart()
  const verb = VERBS.find((each) => start.toLowerCase().startsWith(`${each.replace('-', ' ')} `))
  return verb ? { verb, rest: start.slice(verb.length + 1).trim() } : { rest: start.trim() }
}

const toAction = (verb: Verb, name: string): Entry => ({
  kind: texts.palette.command,
  text: `${texts.palette.verbs[verb]} ${name}`,
  href: toHref(['users', name], { do: verb }),
})

const toAuditEntry = (user: string): Entry => ({
  kind: texts.palette.audit,
  text: texts.palette.auditOf(user),
  href: toHref(['audit'], { user }),
})

function findFixed(pages: readonly PageRow[], wanted: string): readonly Entry[] {
  const all = [
    ...pages.map(({ name, title }) => toEntry('page', title, [name])),
    ...pages.flatMap(({ name, commands = [] }) =>
      commands.map(({ text, query }) => ({ kind: texts.palette.command, text, href: toHref([name], query) })),
    ),
  ]
  return all.filter(({ text }) => hasWords(text.toLowerCase(), wanted))
}

/** `change password` finds "Change my password". */
const hasWords = (text: string, wanted: string): boolean => wanted.split(/\s+/).every((word) => text.includes(word))

const MAX_NAMES = 6

function useUserNames(search: string, isAllowed: boolean): readonly string[] {
  const settled = useDebounced(search)
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(() => {
    if (settled === '' || !isAllowed) {
      setNames([])
      return
    }
    const abort = new AbortController()
    api.get<UserPageView>('/users', { search: settled, limit: MAX_NAMES }, abort.signal).then(
      ({ users }) => abort.signal.aborted || setNames(users.map(({ name }) => name)),
      () => undefined,
    )
    return () => abort.abort()
  }, [settled, isAllowed])
  return names
}

function useOptionNames(isAllowed: boolean): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(() => {
    if (!isAllowed) return
    api.get<OptionListView>('/options').then(
      ({ options }) => setNames(options.map(({ name }) => name)),
      () => undefined,
    )
  }, [isAllowed])
  return names
}
