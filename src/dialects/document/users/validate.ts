import type { Identity } from '../../../directory/identity.ts'
import type { User } from '../../../directory/user.ts'
import { SCHEMES } from '../../../passwords/schemes.ts'
import { readId } from './id.ts'

/** A document somebody wants to put in the place of another, or of none. */
export interface Proposal {
  readonly id: string
  readonly prefix: string
  readonly isDeletion: boolean
  readonly members: ReadonlyMap<string, unknown>
  readonly old: User | undefined
  /** The members of the stored password are those of `old`: they were judged when they were new. */
  readonly keepsPassword: boolean
  readonly who: Identity
}

interface Rule {
  readonly reason: string | ((proposal: Proposal) => string)
  readonly isBroken: (proposal: Proposal) => boolean
}

const DOCUMENT_SCHEMES: ReadonlySet<unknown> = new Set(
  SCHEMES.filter(({ isDocumentScheme }) => isDocumentScheme).map(({ name }) => name),
)
const OPEN_SYSTEM_ROLE = '_metrics'

/** Not `String`: an object from outside may have a `toString` of its own. */
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
const isUpdate = ({ old, who }: Proposal): boolean => old !== undefined && !who.isAdmin
const isSystemRole = (role: unknown): boolean =>
  typeof role === 'string' && role.startsWith('_') && role !== OPEN_SYSTEM_ROLE

/** quirk: reference document 9.3: these sentences, in this order. */
export const RULES: readonly Rule[] = [
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
    isBroken: (proposal) => isUpdate(proposal) && proposal.who.name !== proposal.old?.name,
  },
  {
    reason: 'Only _admin may edit roles',
    isBroken: (proposal) => isUpdate(proposal) && !isSameBag(rolesOf(proposal), proposal.old?.document.roles ?? []),
  },
  {
    reason: 'Only _admin may set roles',
    isBroken: (proposal) => !proposal.old && !proposal.who.isAdmin && rolesOf(proposal).length > 0,
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

/** What is wrong with a document, in the words of the document database; `undefined` where nothing is. */
export function checkProposal(proposal: Proposal): string | undefined {
  if (proposal.isDeletion) return checkDeletion(proposal)
  const { reason } = RULES.find(({ isBroken }) => isBroken(proposal)) ?? {}
  return typeof reason === 'function' ? reason(proposal) : reason
}

const checkDeletion = ({ who, old }: Proposal): string | undefined =>
  who.isAdmin || (old && who.name === old.name) ? undefined : 'Only admins may delete other user docs.'

/** The same roles, each as often, in whatever order. */
function isSameBag(a: readonly unknown[], b: readonly unknown[]): boolean {
  const sorted = (list: readonly unknown[]) => JSON.stringify([...list].sort())
  return sorted(a) === sorted(b)
}
