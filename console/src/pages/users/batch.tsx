import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { BatchReport } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { readNames } from '../../ui/name-field.tsx'
import { notify } from '../../ui/toast.tsx'

type BatchAction = keyof typeof texts.batch.actions

const ACTIONS = Object.keys(texts.batch.actions) as BatchAction[]
const DANGEROUS: ReadonlySet<BatchAction> = new Set(['disable', 'signOut', 'delete'])
const WITH_ROLES: ReadonlySet<BatchAction> = new Set(['addRoles', 'removeRoles'])

interface BatchBarProps {
  readonly names: readonly string[]
  readonly onClear: () => void
  readonly onDone: () => void
}

/** Actions for all selected users. */
export function BatchBar({ names, onClear, onDone }: BatchBarProps) {
  const [action, setAction] = useState<BatchAction>()
  const finish = () => {
    setAction(undefined)
    onClear()
    onDone()
  }
  return (
    <section class="toolbar batch" aria-label={texts.batch.title}>
      <strong>{texts.batch.selected(names.length)}</strong>
      {ACTIONS.map((each) => (
        <Button key={each} {...(each === 'delete' && { kind: 'danger' })} onClick={() => setAction(each)}>
          {texts.batch.actions[each]}
        </Button>
      ))}
      <Button kind="quiet" onClick={onClear}>
        {texts.batch.clear}
      </Button>
      {action && <BatchDialog action={action} names={names} onClose={() => setAction(undefined)} onDone={finish} />}
    </section>
  )
}

interface BatchDialogProps {
  readonly action: BatchAction
  readonly names: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}

const SAMPLE = 5

function BatchDialog({ action, names, onClose, onDone }: BatchDialogProps) {
  const [roles, setRoles] = useState('')
  const [failed, setFailed] = useState<BatchReport['outcomes']>()
  const hasRoles = WITH_ROLES.has(action)
  const run = async () => {
    const body = { names, action, ...(hasRoles && { roles: readNames(roles) }) }
    const { outcomes } = await api.post<BatchReport>('/user-batch', body)
    const problems = outcomes.filter(({ ok }) => !ok)
    if (problems.length > 0) return setFailed(problems)
    notify(texts.batch.done(outcomes.length))
    onDone()
  }
  if (failed) return <Problems failed={failed} total={names.length} onClose={onDone} />
  return (
    <FormDialog
      title={texts.batch.confirm(action, names.length)}
      action={texts.batch.confirm(action, names.length)}
      isDanger={DANGEROUS.has(action)}
      isReady={!hasRoles || readNames(roles).length > 0}
      onClose={onClose}
      onSubmit={run}
    >
      <p>
        {names.slice(0, SAMPLE).map((name) => (
          <span key={name} class="badge mono">
            {name}
          </span>
        ))}{' '}
        {names.length > SAMPLE && texts.batch.andMore(names.length - SAMPLE)}
      </p>
      <p>{texts.batch.effects[action]}</p>
      {hasRoles && (
        <TextField label={texts.users.roles} hint={texts.users.rolesHint} isMono value={roles} onValue={setRoles} />
      )}
    </FormDialog>
  )
}

interface ProblemsProps {
  readonly failed: BatchReport['outcomes']
  readonly total: number
  readonly onClose: () => void
}

const Problems = ({ failed, total, onClose }: ProblemsProps) => (
  <Dialog title={texts.batch.partly(total - failed.length, total)} onClose={onClose}>
    <ul class="stack">
      {failed.map(({ name, reason }) => (
        <li key={name}>
          <span class="mono">{name}</span> <span class="problems">{reason}</span>
        </li>
      ))}
    </ul>
    <div class="row end">
      <Button onClick={onClose}>{texts.actions.close}</Button>
    </div>
  </Dialog>
)
