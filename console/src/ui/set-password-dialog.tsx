import type { ComponentChildren } from 'preact'
import { closeDialog } from '../router.ts'
import { shared } from '../texts.ts'
import { FormDialog } from './dialog.tsx'
import { NewPassword, useNewPassword } from './new-password.tsx'
import { type Proof, withPassword } from './password-proof.tsx'

interface SetPasswordDialogProps {
  readonly name: string
  /** What will happen to sessions. */
  readonly effect: string
  readonly save: (password: string, proof: Proof) => Promise<unknown>
  readonly onDone: () => void
  readonly children?: ComponentChildren
}

/** Sets the password of another account. */
export function SetPasswordDialog({ name, effect, save, onDone, children }: SetPasswordDialogProps) {
  const password = useNewPassword()
  const submit = async () => {
    await withPassword((proof) => save(password.value, proof))
    onDone()
    closeDialog()
  }
  return (
    <FormDialog
      title={shared.users.setPasswordOf(name)}
      action={shared.users.setPassword}
      isReady={password.value !== '' && !password.isRefused}
      onClose={closeDialog}
      onSubmit={submit}
    >
      <NewPassword label={shared.users.newPassword} {...password.field} owner={name} />
      {children}
      <p class="quiet">{effect}</p>
    </FormDialog>
  )
}
