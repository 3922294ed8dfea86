import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import type { UserPage } from '../api/types.ts'
import { navigate, toHref } from '../router.ts'
import { texts } from '../texts.ts'
import type { PageRow } from './page-table.tsx'
import { useSession } from './session.ts'

interface Entry {
  readonly kind: string
  readonly text: string
  readonly href: string
}

interface PaletteProps {
  readonly pages: readonly PageRow[]
  readonly onClose: () => void
}

/** Finds pages and users, and runs commands: `disable ada`. */
export function Palette({ pages, onClose }: PaletteProps) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const names = useUserNames(readCommand(text).rest)
  const entries = [...findFixed(pages, text), ...findUsers(text, names)].slice(0, 12)
  useEffect(() => element.current?.showModal(), [])
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    navigate(entry.href)
  }
  const listen = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') run(entries[at])
    else if (step && entries.length > 0) setAt((at + step + entries.length) % entries.length)
    else return
    event.preventDefault()
  }
  const change = (value: string) => {
    setText(value)
    setAt(0)
  }
  return (
    <dialog ref={element} class="palette large" aria-label={texts.palette.title} onClose={onClose}>
      <input
        role="combobox"
        aria-label={texts.palette.title}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries[at] && `palette-${at}`}
        placeholder={texts.palette.placeholder}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={listen}
      />
      <EntryList entries={entries} at={at} onRun={run} />
    </dialog>
  )
}

interface EntryListProps {
  readonly entries: readonly Entry[]
  readonly at: number
  readonly onRun: (entry: Entry) => void
}

const EntryList = ({ entries, at, onRun }: EntryListProps) => (
  <div class="list" id="palette-list" role="listbox" aria-label={texts.palette.title}>
    {entries.map((entry, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of the list
      <div
        key={entry.href}
        id={`palette-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === at}
        onClick={() => onRun(entry)}
      >
        <span>{entry.text}</span>
        <span class="quiet small">{entry.kind}</span>
      </div>
    ))}
    {entries.length === 0 && (
      <div role="option" tabIndex={-1} aria-selected="false" class="quiet">
        {texts.palette.empty}
      </div>
    )}
  </div>
)

const VERBS = Object.keys(texts.palette.verbs) as (keyof typeof texts.palette.verbs)[]

/** `disable ad` is the command `disable` for users that begin with `ad`. */
function readCommand(text: string): { readonly verb?: (typeof VERBS)[number]; readonly rest: string } {
  const lower = text.trimStart().toLowerCase()
  const verb = VERBS.find((each) => lower.startsWith(`${each.replace('-', ' ')} `))
  return verb
    ? {
        verb,
        rest: text
          .trimStart()
          .slice(verb.length + 1)
          .trim(),
      }
    : { rest: text.trim() }
}

function findFixed(pages: readonly PageRow[], text: string): readonly Entry[] {
  const wanted = text.trim().toLowerCase()
  const has = (name: string) => pages.some((page) => page.name === name)
  const all = [
    ...pages.map(({ name }) => ({ kind: texts.palette.page, text: texts.pages[name], href: toHref([name]) })),
    ...(has('users')
      ? [{ kind: texts.palette.command, text: texts.palette.addUser, href: toHref(['users'], { do: 'add' }) }]
      : []),
    {
      kind: texts.palette.command,
      text: texts.palette.changePassword,
      href: toHref(['account'], { do: 'password' }),
    },
  ]
  return all.filter((entry) => entry.text.toLowerCase().includes(wanted))
}

function findUsers(text: string, names: readonly string[]): readonly Entry[] {
  const { verb } = readCommand(text)
  return names.map((name) =>
    verb
      ? {
          kind: texts.palette.command,
          text: `${texts.palette.verbs[verb]} ${name}`,
          href: toHref(['users', name], { do: verb }),
        }
      : { kind: texts.palette.user, text: name, href: toHref(['users', name]) },
  )
}

const PAUSE_MS = 120

function useUserNames(prefix: string): readonly string[] {
  const { rights } = useSession()
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(() => {
    if (prefix === '' || rights === 'user') {
      setNames([])
      return
    }
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      const page = await api.get<UserPage>('/users', { prefix, limit: 6 }, abort.signal).catch(() => undefined)
      if (!abort.signal.aborted) setNames(page?.users.map(({ name }) => name) ?? [])
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [prefix, rights])
  return names
}
