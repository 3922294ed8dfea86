import type { LinkKind } from '../../pages/sign-in/password-link.tsx'
import { texts } from './texts.ts'

export const passwordLink: LinkKind = { find: '/password-links/find', use: '/password-links/use', texts }
