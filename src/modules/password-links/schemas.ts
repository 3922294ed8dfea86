// What the operations return, also for the console.
import { PASSWORD_RULES } from '../../dialects/admin-api/schemas/account.ts'
import { flag, integer, object, type Static, text } from '../../dialects/admin-api/schemas/schema.ts'

export const PASSWORD_LINK = object({
  url: text('Begins with console.public-url; without it, a path.'),
  expiresAt: integer('Seconds since the epoch.'),
})
export type PasswordLinkView = Static<typeof PASSWORD_LINK>

export const LINK_OWNER = object({
  name: text(),
  passwordRules: PASSWORD_RULES,
  'canLink?': flag('Whether the user can link an account at an identity provider instead.'),
})
