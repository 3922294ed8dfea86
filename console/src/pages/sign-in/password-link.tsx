import { useState } from 'preact/hooks'
import { api, toMessage } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { Problem, TextField, useSubmit } from '../../ui/field.tsx'
import { Button } from '../../ui/parts.tsx'
import { Entrance } from './sign-in.tsx'
import { texts } from './texts.ts'

interface Link {
  readonly name: string
  readonly passwordRules: readonly string[]
  readonly canLink?: boolean
}

interface Used {
  readonly needsAdministrator?: boolean
}

/** What a link with which a password is chosen does. */
export interface LinkKind {
  readonly find: string
  readonly use: string
  readonly texts: {
    readonly action: string
    readonly failed: string
    readonly title: (name: string) => string
    readonly done: string
    readonly doneText: (name: string) => string
    /** In place of it, if the user is disabled until an administrator enables it. */
    readonly lockedText?: (name: string) => string
  }
}

interface LinkProps {
  readonly token: string
  readonly kind: LinkKind
}

/** Sets a password with a link. The token is in the fragment, so it is never part of a logged path. */
export function PasswordLinkPage({ token, kind }: LinkProps) {
  const link = useResource(token, (signal) => api.post<Link>(kind.find, { token }, signal))
  return (
    <Entrance title={kind.texts.action}>
      {link.data && <LinkForm link={link.data} token={token} kind={kind} />}
      {link.error !== undefined && <NoLink title={kind.texts.failed} reason={toMessage(link.error)} />}
    </Entrance>
  )
}

export const NoLink = ({ title, reason }: { readonly title: string; readonly reason: string }) => (
  <section class="card">
    <h1>{title}</h1>
    <p role="alert">{reason}</p>
    <a href="/_cardea/">{shared.actions.signIn}</a>
  </section>
)

function LinkForm({ link: { name, passwordRules, canLink }, token, kind }: LinkProps & { readonly link: Link }) {
  const [password, setPassword] = useState('')
  const [done, setDone] = useState<Used>()
  const { submit, isBusy, problem } = useSubmit(async () => {
    setDone(await api.post<Used>(kind.use, { token, password }))
  })
  if (done) {
    const toText = (done.needsAdministrator && kind.texts.lockedText) || kind.texts.doneText
    return <LinkDone title={kind.texts.done} text={toText(name)} />
  }
  return (
    <form class="card" onSubmit={submit}>
      <h1>{kind.texts.title(name)}</h1>
      <Problem text={problem} />
      <TextField
        label={shared.users.newPassword}
        hint={passwordRules.join(' ')}
        type="password"
        autoComplete="new-password"
        autoFocus
        value={password}
        onValue={setPassword}
      />
      <Button type="submit" kind="primary" isBusy={isBusy} disabled={password === ''}>
        {kind.texts.action}
      </Button>
      {canLink && (
        <a class="button" href={`/_cardea/sign-in#password-link/${token}`}>
          {texts.useProvider}
        </a>
      )}
    </form>
  )
}

export const LinkDone = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <section class="card">
    <h1>{title}</h1>
    <p>{text}</p>
    <a class="button primary" href="/_cardea/">
      {shared.actions.signIn}
    </a>
  </section>
)
