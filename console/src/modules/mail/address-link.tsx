import { useState } from 'preact/hooks'
import { api, toMessage } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { NoLink } from '../../pages/sign-in/password-link.tsx'
import { Entrance } from '../../pages/sign-in/sign-in.tsx'
import { Problem, useSubmit } from '../../ui/field.tsx'
import { Button } from '../../ui/parts.tsx'
import { texts } from './texts.ts'

interface Owner {
  readonly name: string
  readonly address: string
}

/** Confirms an address after a click: programs that look into mailboxes open links by themselves. */
export function AddressLinkPage({ token }: { readonly token: string }) {
  const link = useResource(token, (signal) => api.post<Owner>('/account/address/find', { token }, signal))
  return (
    <Entrance title={texts.confirmTitle}>
      {link.data && <ConfirmForm owner={link.data} token={token} />}
      {link.error !== undefined && <NoLink title={texts.failed} reason={toMessage(link.error)} />}
    </Entrance>
  )
}

function ConfirmForm({ owner: { name, address }, token }: Readonly<{ owner: Owner; token: string }>) {
  const [isDone, setDone] = useState(false)
  const { submit, isBusy, problem } = useSubmit(async () => {
    await api.post('/account/address/confirm', { token })
    setDone(true)
  })
  if (isDone)
    return (
      <section class="card">
        <h1>{texts.done}</h1>
        <p role="status">{texts.doneText(address, name)}</p>
      </section>
    )
  return (
    <form class="card" onSubmit={submit}>
      <h1>{texts.confirmTitle}</h1>
      <p>{texts.confirmText(address, name)}</p>
      <Problem text={problem} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {texts.confirm}
      </Button>
    </form>
  )
}
