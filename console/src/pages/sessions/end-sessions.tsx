import { useState } from 'preact/hooks'
import { api, type EndedPageView } from '../../api/client.ts'
import type { Route } from '../../router.ts'
import { shared } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { type Proof, withPassword } from '../../ui/password-proof.tsx'
import { notify } from '../../ui/toast.tsx'
import { toFilter } from './filter.ts'
import { texts } from './texts.ts'

interface EndProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Ends the selected sessions. */
export function EndSome({ ids, onClose, onDone }: EndProps & { readonly ids: readonly string[] }) {
  const end = async () => {
    const { endedSessions } = await withPassword((proof) => api.post<EndedPageView>('/sessions/end', { ids, ...proof }))
    notify(shared.sessions.endedCount(endedSessions))
    onClose()
    onDone()
  }
  const label = texts.endSome(ids.length)
  return (
    <FormDialog title={label} action={label} isDanger onClose={onClose} onSubmit={end}>
      <p>{shared.sessions.endAllText(ids.length)}</p>
      <p class="quiet">{texts.keepsOwn}</p>
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
    let proof: Proof = {}
    do {
      const body = { all: true, ...filter, ...(after && { after }) }
      const page: EndedPageView = await withPassword((given) => {
        // asked once, for all pages
        proof = { ...proof, ...given }
        return api.post('/sessions/end', { ...body, ...proof })
      })
      total += page.endedSessions
      after = page.next
      setEnded(total)
    } while (after !== undefined)
    notify(shared.sessions.endedCount(total))
    onClose()
    onDone()
  }
  const label = search === '' && age === '' ? texts.endAll : texts.endFound
  return (
    <FormDialog title={label} action={label} isDanger onClose={onClose} onSubmit={end}>
      <p>
        {search === ''
          ? texts.endEveryText
          : texts.endFoundText(texts.keys[by as keyof typeof texts.keys] ?? by, search)}
      </p>
      {age !== '' && <p>{texts.endOlderText(texts.ages[age as keyof typeof texts.ages])}</p>}
      <p class="quiet">{texts.keepsOwn}</p>
      {ended > 0 && <p role="status">{shared.sessions.endedCount(ended)}</p>}
    </FormDialog>
  )
}
