import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, type BatchReportView, type ListedUserView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { FormDialog, ReportDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { SelectionBar } from '../../ui/list.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Button, Chips } from '../../ui/parts.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

type BatchAction = keyof typeof texts.batch.actions

const ACTIONS = Object.keys(texts.batch.actions) as BatchAction[]
const DANGEROUS: ReadonlySet<BatchAction> = new Set(['disable', 'signOut', 'delete'])
const WITH_ROLES: ReadonlySet<BatchAction> = new Set(['addRoles', 'removeRoles'])

interface BatchBarProps {
  readonly names: readonly string[]
  /** Selects users beyond those that the list shows. */
  readonly selectAll: ComponentChildren
  /** As the list shows them now. */
  readonly users: readonly ListedUserView[]
  readonly onClear: () => void
  readonly onDone: () => void
}

/** Actions for all selected users. */
export function BatchBar({ names, users, selectAll, onClear, onDone }: BatchBarProps) {
  const [action, setAction] = useState<BatchAction>()
  const finish = () => {
    setAction(undefined)
    onClear()
    onDone()
  }
  return (
    <SelectionBar text={texts.batch.selected(names.length)} label={texts.batch.title} onClear={onClear}>
      {selectAll}
      {ACTIONS.map((each) => (
        <Button key={each} {...(each === 'delete' && { kind: 'danger' })} onClick={() => setAction(each)}>
          {texts.batch.actions[each]}
        </Button>
      ))}
      {action && <BatchDialog {...{ action, names, users }} onClose={() => setAction(undefined)} onDone={finish} />}
    </SelectionBar>
  )
}

interface Batch {
  readonly action: BatchAction
  readonly names: readonly string[]
  readonly roles?: readonly string[]
}

const send = (batch: Batch) => api.post<BatchReportView>('/user-batch', batch)

/** What restores these users as they were before. Ended sessions and deleted users do not come back. */
function invert({ action, roles = [] }: Omit<Batch, 'names'>, users: readonly ListedUserView[]): readonly Batch[] {
  // those whom the action left as they were keep what they have
  const toBatch = (back: BatchAction, isChanged: (user: ListedUserView) => boolean) => ({
    action: back,
    names: users.filter(isChanged).map(({ name }) => name),
  })
  const rows: Partial<Record<BatchAction, readonly Batch[]>> = {
    disable: [toBatch('enable', ({ active }) => active)],
    enable: [toBatch('disable', ({ active }) => !active)],
    addRoles: roles.map((role) => ({
      ...toBatch('removeRoles', (user) => !user.roles.includes(role)),
      roles: [role],
    })),
    removeRoles: roles.map((role) => ({ ...toBatch('addRoles', (user) => user.roles.includes(role)), roles: [role] })),
  }
  return (rows[action] ?? []).filter(({ names }) => names.length > 0)
}

interface BatchDialogProps extends Omit<BatchBarProps, 'onClear' | 'selectAll'> {
  readonly action: BatchAction
  readonly onClose: () => void
}

const SAMPLE = 5
/** A deletion of more users asks for their number: a list may have more than the window shows. */
const MAX_UNASKED = 10

function BatchDialog({ action, names, users, onClose, onDone }: BatchDialogProps) {
  const [roles, setRoles] = useState<readonly string[]>([])
  const [failed, setFailed] = useState<BatchReportView['outcomes']>()
  const hasRoles = WITH_ROLES.has(action)
  const [typed, setTyped] = useState('')
  const asksNumber = action === 'delete' && names.length > MAX_UNASKED
  const run = async () => {
    const change = { action, ...(hasRoles && { roles }) }
    const { outcomes } = await send({ ...change, names })
    const done = new Set(outcomes.filter(({ ok }) => ok).map(({ name }) => name))
    const changed = users.filter(({ name }) => done.has(name))
    const back = invert(change, changed)
    const undo = async () => {
      for (const batch of back) await send(batch)
      notify(texts.batch.undone(changed.length))
      onDone()
    }
    if (done.size > 0)
      notify(texts.batch.done(texts.batch.actions[action], done.size), back.length > 0 ? undo : undefined)
    if (done.size < outcomes.length) return setFailed(outcomes.filter(({ ok }) => !ok))
    onDone()
  }
  if (failed)
    return (
      <ReportDialog
        title={texts.batch.partly(names.length - failed.length, names.length)}
        rows={failed.map(({ name, reason = '' }) => [name, reason])}
        onClose={onDone}
      />
    )
  return (
    <FormDialog
      title={texts.batch.confirm(action, names.length)}
      action={texts.batch.confirm(action, names.length)}
      isDanger={DANGEROUS.has(action)}
      isReady={(!hasRoles || roles.length > 0) && (!asksNumber || typed.trim() === String(names.length))}
      onClose={onClose}
      onSubmit={run}
    >
      <div>
        <Chips items={names.slice(0, SAMPLE)} /> {names.length > SAMPLE && texts.batch.andMore(names.length - SAMPLE)}
      </div>
      <p>{texts.batch.effects[action]}</p>
      {hasRoles && <NamesField label={shared.users.roles} names={roles} onNames={setRoles} of="roles" />}
      {asksNumber && <TextField label={texts.batch.typeNumber(names.length)} value={typed} onValue={setTyped} />}
    </FormDialog>
  )
}
