import { useState } from 'preact/hooks'
import { api, toMessage } from '../api/client.ts'
import { useResource } from '../api/use-resource.ts'
import { texts } from '../texts.ts'
import { Problem, TextField, useSubmit } from '../ui/field.tsx'
import { Button } from '../ui/parts.tsx'
import { Entrance } from './sign-in.tsx'

interface Link {
  readonly name: string
  readonly passwordRules: readonly string[]
  readonly canLink?: boolean
}

/** Sets a password with a password link. The token is in the fragment, so it is never part of a logged path. */
export function PasswordLinkPage({ token }: { readonly token: string }) {
  const link = useResource(token, (signal) => api.post<Link>('/password-links/find', { token }, signal))
  return (
    <Entrance title={texts.users.setPassword}>
      {link.data && <LinkForm link={link.data} token={token} />}
      {link.error !== undefined && <NoLink reason={toMessage(link.error)} />}
    </Entrance>
  )
}

const NoLink = ({ reason }: { readonly reason: string }) => (
  <section class="card">
    <h1>{texts.link.failed}</h1>
    <p role="alert">{reason}</p>
    <a href="/_cardea/">{texts.signIn.action}</a>
  </section>
)

function LinkForm({ link: { name, passwordRules, canLink }, token }: Readonly<{ link: Link; token: string }>) {
  const [password, setPassword] = useState('')
  const [isDone, setDone] = useState(false)
  const { submit, isBusy, problem } = useSubmit(async () => {
    await api.post('/password-links/use', { token, password })
    setDone(true)
  })
  if (isDone) return <LinkDone name={name} />
  return (
    <form class="card" onSubmit={submit}>
      <h1>{texts.link.title(name)}</h1>
      <Problem text={problem} />
      <TextField
        label={texts.users.newPassword}
        hint={passwordRules.join(' ')}
        type="password"
        autoComplete="new-password"
        autoFocus
        value={password}
        onValue={setPassword}
      />
      <Button type="submit" kind="primary" isBusy={isBusy} disabled={password === ''}>
        {texts.users.setPassword}
      </Button>
      {canLink && (
        <a class="button" href={`/_cardea/sign-in#password-link/${token}`}>
          {texts.link.useProvider}
        </a>
      )}
    </form>
  )
}

const LinkDone = ({ name }: { readonly name: string }) => (
  <section class="card">
    <h1>{texts.link.done}</h1>
    <p>{texts.link.doneText(name)}</p>
    <a class="button primary" href="/_cardea/">
      {texts.signIn.action}
    </a>
  </section>
)
