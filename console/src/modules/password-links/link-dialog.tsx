import { useState } from 'preact/hooks'
import type { PasswordLinkView } from '../../../../src/modules/password-links/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { closeDialog } from '../../router.ts'
import { shared } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Time } from '../../ui/parts.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'
import { linkTexts } from './texts.ts'

export const createLink = (name: string): Promise<PasswordLinkView> =>
  api.post<PasswordLinkView>(toPath('users', name, 'password-link'))

export function CreateLink({ name }: { readonly name: string }) {
  const [link, setLink] = useState<PasswordLinkView>()
  const create = async () => setLink(await createLink(name))
  if (link) return <ShownLink name={name} link={link} onClose={closeDialog} />
  return (
    <FormDialog title={linkTexts.title(name)} action={linkTexts.action} onClose={closeDialog} onSubmit={create}>
      <p>{linkTexts.text}</p>
    </FormDialog>
  )
}

interface ShownLinkProps {
  readonly name: string
  readonly link: PasswordLinkView
  readonly onClose: () => void
}

export const ShownLink = ({ name, link, onClose }: ShownLinkProps) => (
  <ShownOnce
    title={linkTexts.title(name)}
    value={new URL(link.url, location.href).href}
    action={shared.actions.done}
    onClose={onClose}
  >
    <p class="quiet">
      {linkTexts.expires} <Time at={link.expiresAt} />
    </p>
  </ShownOnce>
)
