import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { changeQuery, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { notify } from '../../ui/toast.tsx'

interface EndOthersProps {
  /** Shown again, with another number, after sessions have ended. */
  readonly children: (round: number) => ComponentChildren
}

/** The question before all other sessions end. */
export function EndOthers({ children }: EndOthersProps) {
  const { query } = useRoute()
  const [round, setRound] = useState(0)
  const close = () => changeQuery({ do: undefined })
  const run = async () => {
    const { endedSessions } = await api.post<{ readonly endedSessions: number }>('/account/sessions/end-others')
    notify(texts.sessions.endedCount(endedSessions))
    setRound(round + 1)
    close()
  }
  return (
    <>
      {children(round)}
      {query['do'] === 'end-others' && (
        <FormDialog
          title={texts.sessions.endOthers}
          action={texts.sessions.endOthers}
          isDanger
          onClose={close}
          onSubmit={run}
        >
          <p>{texts.sessions.endOthersText}</p>
        </FormDialog>
      )}
    </>
  )
}
