import { closeDialog } from '../router.ts'
import { FormDialog } from './dialog.tsx'
import { type Proof, withPassword } from './password-proof.tsx'
import { notify } from './toast.tsx'

interface ConfirmDialogProps<T> {
  /** Title and button, with the object: "Delete ada". */
  readonly label: string
  /** What will happen. */
  readonly effect: string
  readonly isDanger?: boolean
  /** Called again with the password of the caller if the server wants it. */
  readonly run: (proof: Proof) => Promise<T>
  /** What has happened. */
  readonly done: (result: T) => string
  readonly onDone: () => void
}

/** Asks once before something is done. */
export function ConfirmDialog<T>({ label, effect, isDanger = false, run, done, onDone }: ConfirmDialogProps<T>) {
  const submit = async () => {
    notify(done(await withPassword(run)))
    onDone()
    closeDialog()
  }
  return (
    <FormDialog title={label} action={label} isDanger={isDanger} onClose={closeDialog} onSubmit={submit}>
      <p>{effect}</p>
    </FormDialog>
  )
}
