import { type Identity, METRICS_ROLE } from '../../../directory/identity.ts'
import type { User } from '../../../directory/users/user.ts'
import { SCHEMES } from '../../../passwords/schemes.ts'
import { readId } from './id.ts'

/** A document that is to be written. */
export interface Proposal {
  readonly id: string
  readonly prefix: string
  readonly isDeletion: boolean
  readonly members: ReadonlyMap<string, unknown>
  readonly old: User | undefined
  /** Whether the members of the stored password are those of `old`, which were checked when they were new. */
  readonly keepsPassword: boolean
  readonly writer: Identity
}

type Reason = string | ((proposal: Proposal) => string)

const rule = (reason: Reason, isBroken: (proposal: Proposal) => boolean) => ({ reason, isBroken })

const DOCUMENT_SCHEMES: ReadonlySet<unknown> = new Set(
  SCHEMES.filter(({ isDocumentScheme }) => isDocumentScheme).map(({ name }) => name),
)

/** Not `String(value)`: an object in the document may have a member `toString`. */
function textOf({ members }: Proposal, name: string): string {
  const value = members.get(name)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
const rolesOf = ({ members }: Proposal): readonly unknown[] => {
  const roles = members.get('roles')
  return Array.isArray(roles) ? roles : []
}
const isNewScheme = ({ members, keepsPassword }: Proposal, scheme: string): boolean =>
  !keepsPassword && members.get('password_scheme') === scheme
const isUpdateByUser = ({ old, writer }: Proposal): boolean => old !== undefined && !writer.isAdmin
const isSystemRole = (role: unknown): boolean =>
  typeof role === 'string' && role.startsWith('_') && role !== METRICS_ROLE

/** quirk: reference document 9.3: exactly these messages, in this order. */
export const DOCUMENT_RULES: readonly ReturnType<typeof rule>[] = [
  rule('doc.type must be user', ({ members }) => members.get('type') !== 'user'),
  rule('doc.name is required', ({ members }) => !members.get('name')),
  rule('doc.roles must exist', ({ members }) => !members.get('roles')),
  rule('doc.roles must be an array', ({ members }) => !Array.isArray(members.get('roles'))),
  rule('doc.roles can only contain strings', (proposal) => rolesOf(proposal).some((role) => typeof role !== 'string')),
  rule(
    ({ prefix }) => `Doc ID must be of the form ${prefix}name`,
    ({ id, prefix, members }) => {
      const parsed = readId(id, prefix)
      return parsed.kind !== 'user' || parsed.name !== members.get('name')
    },
  ),
  rule('Usernames can not be changed.', ({ old, members }) => old !== undefined && old.name !== members.get('name')),
  rule(
    'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
    ({ members, keepsPassword }) => !keepsPassword && !!members.get('password_sha') && !members.get('salt'),
  ),
  rule(
    (proposal) => `Password scheme \`${textOf(proposal, 'password_scheme')}\` not supported.`,
    ({ members, keepsPassword }) => {
      const scheme = members.get('password_scheme')
      return !keepsPassword && !!scheme && !DOCUMENT_SCHEMES.has(scheme)
    },
  ),
  rule(
    'iterations must be a number.',
    (proposal) => isNewScheme(proposal, 'pbkdf2') && typeof proposal.members.get('iterations') !== 'number',
  ),
  rule(
    'derived_key must be a string.',
    (proposal) => isNewScheme(proposal, 'pbkdf2') && typeof proposal.members.get('derived_key') !== 'string',
  ),
  rule(
    'You may only update your own user document.',
    (proposal) => isUpdateByUser(proposal) && proposal.writer.name !== proposal.old?.name,
  ),
  rule(
    'Only _admin may edit roles',
    (proposal) => isUpdateByUser(proposal) && !hasSameRoles(rolesOf(proposal), proposal.old?.document.roles ?? []),
  ),
  rule(
    'Only _admin may set roles',
    (proposal) => !proposal.old && !proposal.writer.isAdmin && rolesOf(proposal).length > 0,
  ),
  rule('No system roles (starting with underscore) in users db.', (proposal) => rolesOf(proposal).some(isSystemRole)),
  rule('Username may not start with underscore.', (proposal) => textOf(proposal, 'name').startsWith('_')),
  rule('Character `:` is not allowed in usernames.', (proposal) => textOf(proposal, 'name').includes(':')),
]

/** The message of the first broken rule. */
export function checkProposal(proposal: Proposal): string | undefined {
  if (proposal.isDeletion) return checkDeletion(proposal)
  const { reason } = DOCUMENT_RULES.find(({ isBroken }) => isBroken(proposal)) ?? {}
  return typeof reason === 'function' ? reason(proposal) : reason
}

const checkDeletion = ({ writer, old }: Proposal): string | undefined =>
  writer.isAdmin || (old && writer.name === old.name) ? undefined : 'Only admins may delete other user docs.'

/** In any order. */
function hasSameRoles(a: readonly unknown[], b: readonly unknown[]): boolean {
  const sorted = (list: readonly unknown[]) => JSON.stringify([...list].sort())
  return sorted(a) === sorted(b)
}
