import type { LinkKind } from '../../pages/sign-in/password-link.tsx'
import { texts } from './texts.ts'

export const signUpLink: LinkKind = {
  find: '/account/sign-up/find',
  use: '/account/sign-up/confirm',
  texts: texts.signUpLink,
}

export const undoLink: LinkKind = {
  find: '/account/address/undo/find',
  use: '/account/address/undo',
  texts: texts.undoLink,
}
