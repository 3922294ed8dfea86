import type { Identity } from '../../../directory/identity.ts'
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

interface Rule {
  readonly reason: string | ((proposal: Proposal) => string)
  readonly isBroken: (proposal: Proposal) => boolean
}

const DOCUMENT_SCHEMES: ReadonlySet<unknown> = new Set(
  SCHEMES.filter(({ isDocumentScheme }) => isDocumentScheme).map(({ name }) => name),
)
const OPEN_SYSTEM_ROLE = '_metrics'

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
  typeof role === 'string' && role.startsWith('_') && role !== OPEN_SYSTEM_ROLE

/** quirk: reference document 9.3: exactly these messages, in this order. */
export const DOCUMENT_RULES: readonly Rule[] = [
  { reason: 'doc.type must be user', isBroken: ({ members }) => members.get('type') !== 'user' },
  { reason: 'doc.name is required', isBroken: ({ members }) => !members.get('name') },
  { reason: 'doc.roles must exist', isBroken: ({ members }) => !members.get('roles') },
  { reason: 'doc.roles must be an array', isBroken: ({ members }) => !Array.isArray(members.get('roles')) },
  {
    reason: 'doc.roles can only contain strings',
    isBroken: (proposal) => rolesOf(proposal).some((role) => typeof role !== 'string'),
  },
  {
    reason: (proposal) => `Doc ID must be of the form ${proposal.prefix}name`,
    isBroken: ({ id, prefix, members }) => {
      const parsed = readId(id, prefix)
      return parsed.kind !== 'user' || parsed.name !== members.get('name')
    },
  },
  {
    reason: 'Usernames can not be changed.',
    isBroken: ({ old, members }) => old !== undefined && old.name !== members.get('name'),
  },
  {
    reason: 'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
    isBroken: ({ members, keepsPassword }) => !keepsPassword && !!members.get('password_sha') && !members.get('salt'),
  },
  {
    reason: (proposal) => `Password scheme \`${textOf(proposal, 'password_scheme')}\` not supported.`,
    isBroken: ({ members, keepsPassword }) => {
      const scheme = members.get('password_scheme')
      return !keepsPassword && !!scheme && !DOCUMENT_SCHEMES.has(scheme)
    },
  },
  {
    reason: 'iterations must be a number.',
    isBroken: (proposal) => isNewScheme(proposal, 'pbkdf2') && typeof proposal.members.get('iterations') !== 'number',
  },
  {
    reason: 'derived_key must be a string.',
    isBroken: (proposal) => isNewScheme(proposal, 'pbkdf2') && typeof proposal.members.get('derived_key') !== 'string',
  },
  {
    reason: 'You may only update your own user document.',
    isBroken: (proposal) => isUpdateByUser(proposal) && proposal.writer.name !== proposal.old?.name,
  },
  {
    reason: 'Only _admin may edit roles',
    isBroken: (proposal) =>
      isUpdateByUser(proposal) && !hasSameRoles(rolesOf(proposal), proposal.old?.document.roles ?? []),
  },
  {
    reason: 'Only _admin may set roles',
    isBroken: (proposal) => !proposal.old && !proposal.writer.isAdmin && rolesOf(proposal).length > 0,
  },
  {
    reason: 'No system roles (starting with underscore) in users db.',
    isBroken: (proposal) => rolesOf(proposal).some(isSystemRole),
  },
  {
    reason: 'Username may not start with underscore.',
    isBroken: (proposal) => textOf(proposal, 'name').startsWith('_'),
  },
  {
    reason: 'Character `:` is not allowed in usernames.',
    isBroken: (proposal) => textOf(proposal, 'name').includes(':'),
  },
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
