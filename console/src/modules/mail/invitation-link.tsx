import { useState } from 'preact/hooks'
import { api, toMessage } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { LinkDone, NoLink } from '../../pages/sign-in/password-link.tsx'
import { Entrance } from '../../pages/sign-in/sign-in.tsx'
import { shared } from '../../texts.ts'
import { Problem, TextField, useSubmit } from '../../ui/field.tsx'
import { Button } from '../../ui/parts.tsx'
import { texts } from './texts.ts'

interface Invitation {
  readonly name: string | null
  readonly passwordRules: readonly string[]
  readonly canLink?: boolean
}

/** Creates the account of an invitation: with a password, or with an account at a provider. */
export function InvitationLinkPage({ token }: { readonly token: string }) {
  const link = useResource(token, (signal) => api.post<Invitation>('/account/invitation/find', { token }, signal))
  return (
    <Entrance title={texts.signUpLink.action}>
      {link.data && <AcceptForm invitation={link.data} token={token} />}
      {link.error !== undefined && <NoLink title={texts.signUpLink.failed} reason={toMessage(link.error)} />}
    </Entrance>
  )
}

function AcceptForm({ invitation, token }: { readonly invitation: Invitation; readonly token: string }) {
  const [name, setName] = useState(invitation.name ?? '')
  const [password, setPassword] = useState('')
  const [isDone, setDone] = useState(false)
  const { submit, isBusy, problem } = useSubmit(async () => {
    await api.post('/account/invitation/accept', { token, name, password })
    setDone(true)
  })
  // the account is created when the provider has sent the person back
  const provider = useSubmit(async () => {
    await api.post('/account/invitation/find', { token, name })
    location.href = `/_cardea/sign-in#password-link/${token}/${encodeURIComponent(name)}`
  })
  const { title, action, done, doneText } = texts.signUpLink
  if (isDone) return <LinkDone title={done} text={doneText(name)} />
  return (
    <form class="card" onSubmit={submit}>
      <h1>{invitation.name === null ? action : title(invitation.name)}</h1>
      <Problem text={problem || provider.problem} />
      {invitation.name === null && (
        <TextField label={shared.users.name} autoComplete="username" autoFocus value={name} onValue={setName} />
      )}
      <TextField
        label={shared.users.newPassword}
        hint={invitation.passwordRules.join(' ')}
        type="password"
        autoComplete="new-password"
        value={password}
        onValue={setPassword}
      />
      <Button type="submit" kind="primary" isBusy={isBusy} disabled={name === '' || password === ''}>
        {action}
      </Button>
      {invitation.canLink && (
        <Button onClick={provider.submit} isBusy={provider.isBusy} disabled={name === ''}>
          {texts.useProvider}
        </Button>
      )}
    </form>
  )
}
