import { useState } from 'preact/hooks'
import { api, type EndedPage } from '../../api/client.ts'
import type { Route } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { notify } from '../../ui/toast.tsx'
import { toFilter } from './filter.ts'

interface EndProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Ends the selected sessions. */
export function EndSome({ ids, onClose, onDone }: EndProps & { readonly ids: readonly string[] }) {
  const end = async () => {
    const { endedSessions } = await api.post<EndedPage>('/sessions/end', { ids })
    notify(texts.sessions.endedCount(endedSessions))
    onClose()
    onDone()
  }
  const label = texts.sessions.endSome(ids.length)
  return (
    <FormDialog title={label} action={label} isDanger onClose={onClose} onSubmit={end}>
      <p>{texts.sessions.endAllText(ids.length)}</p>
      <p class="quiet">{texts.sessions.keepsOwn}</p>
    </FormDialog>
  )
}

/** Ends what the filters of the page select, page by page, also what the list does not show. */
export function EndAll({ query, onClose, onDone }: EndProps & { readonly query: Route['query'] }) {
  const [ended, setEnded] = useState(0)
  const { search = '', by = 'user', age = '' } = query
  const end = async () => {
    const filter = toFilter(query)
    let total = 0
    let after: string | undefined
    do {
      const page: EndedPage = await api.post('/sessions/end', { all: true, ...filter, ...(after && { after }) })
      total += page.endedSessions
      after = page.next
      setEnded(total)
    } while (after !== undefined)
    notify(texts.sessions.endedCount(total))
    onClose()
    onDone()
  }
  const label = search === '' && age === '' ? texts.sessions.endAll : texts.sessions.endFound
  return (
    <FormDialog title={label} action={label} isDanger onClose={onClose} onSubmit={end}>
      <p>
        {search === ''
          ? texts.sessions.endEveryText
          : texts.sessions.endFoundText(texts.sessions.keys[by as keyof typeof texts.sessions.keys] ?? by, search)}
      </p>
      {age !== '' && <p>{texts.sessions.endOlderText(texts.sessions.ages[age as keyof typeof texts.sessions.ages])}</p>}
      <p class="quiet">{texts.sessions.keepsOwn}</p>
      {ended > 0 && <p role="status">{texts.sessions.endedCount(ended)}</p>}
    </FormDialog>
  )
}
