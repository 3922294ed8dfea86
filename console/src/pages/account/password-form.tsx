import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Problem, TextField } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { notifyAfterReload } from '../../ui/toast.tsx'
import { useSubmit } from '../../ui/use-submit.ts'

/** A new password ends all sessions. This page gets a new one, and its token with the next delivery of the page. */
export function PasswordForm({ rules }: { readonly rules: readonly string[] }) {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const { submit, isBusy, problem } = useSubmit(async () => {
    const body = { current_password: current, password }
    const { endedSessions } = await api.put<{ readonly endedSessions: number }>('/account/password', body)
    notifyAfterReload(texts.account.passwordChanged(endedSessions))
    location.reload()
  })
  return (
    <form class="inside stack form" onSubmit={submit}>
      <TextField
        label={texts.account.currentPassword}
        type="password"
        autoComplete="current-password"
        value={current}
        onValue={setCurrent}
      />
      <NewPassword label={texts.users.newPassword} rules={rules} value={password} onValue={setPassword} />
      <Problem text={problem} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={current === '' || password === ''}>
          {texts.account.changePassword}
        </Button>
        <span class="quiet">{texts.account.changeEffect}</span>
      </div>
    </form>
  )
}
