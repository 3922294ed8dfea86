import type { JSX } from 'preact'
import { AddressLinkPage } from './modules/mail/address-link.tsx'
import { InvitationLinkPage } from './modules/mail/invitation-link.tsx'
import { signUpLink, undoLink } from './modules/mail/links.ts'
import { passwordLink } from './modules/password-links/links.ts'
import { PasswordLinkPage } from './pages/sign-in/password-link.tsx'

/** Pages that need no session, because a link with a token opens them: by the first segment of the address. */
export const LINKS: Readonly<Record<string, (token: string) => JSX.Element>> = {
  'password-link': (token) => <PasswordLinkPage token={token} kind={passwordLink} />,
  'sign-up-link': (token) => <PasswordLinkPage token={token} kind={signUpLink} />,
  'undo-link': (token) => <PasswordLinkPage token={token} kind={undoLink} />,
  'invitation-link': (token) => <InvitationLinkPage token={token} />,
  'address-link': (token) => <AddressLinkPage token={token} />,
}
