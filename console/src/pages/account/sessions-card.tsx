import { api } from '../../api/client.ts'
import { openDialog, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Card } from '../../ui/parts.tsx'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'

const BASE = '/account/sessions'
const END_OTHERS = 'end-others'

/** The own sessions. */
export function SessionsCard() {
  const { query } = useRoute()
  const list = useSessions(BASE)
  const others = list.data?.sessions.filter(({ isCurrent }) => !isCurrent).length ?? 0
  const endOthers = others > 0 && <Button onClick={() => openDialog(END_OTHERS)}>{texts.sessions.endOthers}</Button>
  return (
    <Card title={texts.sessions.title} actions={endOthers}>
      <SessionTable list={list} base={BASE} canEnd />
      {query['do'] === END_OTHERS && others > 0 && (
        <ConfirmDialog
          label={texts.sessions.endOthers}
          effect={texts.sessions.endOthersText(others)}
          isDanger
          run={() => api.post<{ readonly endedSessions: number }>(`${BASE}/end-others`)}
          done={({ endedSessions }) => texts.sessions.endedCount(endedSessions)}
          onDone={list.reload}
        />
      )}
    </Card>
  )
}
