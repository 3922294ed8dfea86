import { Refusal } from '../../../base/errors.ts'
import type { Caller } from '../../../directory/directory.ts'
import type { Authenticated } from '../../../directory/identity.ts'
import type { Json, User } from '../../../directory/user.ts'
import { needsPassword, type OwnChange, requireOwnChange, requireWriter } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { type DocumentId, readId } from './id.ts'
import { isPasswordMember, keepsPassword, readSentPassword, type SentPassword, toNewPassword } from './password.ts'
import { requireFollows } from './revision.ts'
import type { SentDocument } from './sent.ts'
import { CORE_MEMBERS } from './to-document.ts'
import { checkProposal } from './validate.ts'

export interface Edit {
  readonly id: string
  readonly sent: SentDocument
  readonly who: Authenticated
  /** Throws unless the credential has proved the password. */
  requirePassword(): Promise<void>
  readonly caller: Caller
}

export interface Written {
  readonly id: string
  readonly rev: string
}

/** Bounded because every node remembers documents in memory. */
const MAX_BYTES = { admin: 1_048_576, other: 65_536 } as const

/** Puts a document in the place of the one it follows. Everything that is asked of either is asked here. */
export async function writeDocument(deps: UsersDeps, edit: Edit): Promise<Written> {
  const { id, sent, who } = edit
  const target = readId(id, deps.prefix)
  requireWriter(who.identity, target, deps.settings())
  requireWritable(target)
  requireSize(edit)
  const password = readSentPassword(sent.members)
  const record = target.kind === 'user' ? await deps.directory.findRecord(target.name) : undefined
  requireFollows(sent.revision, record)
  const old = record?.kind === 'user' ? record : undefined
  const change = requireAllowed(deps, edit, old, password)
  if (needsPassword(who.identity, change)) await edit.requirePassword()
  return { id, rev: await store(deps, edit, old, password) }
}

function requireWritable({ kind, id }: DocumentId): void {
  if (kind === 'design')
    throw new Refusal('forbidden', { about: 'Design documents of this database cannot be changed.' })
  if (id === '') throw new Refusal('document_id_invalid', { about: 'Document id must not be empty' })
  if (id.startsWith('_')) {
    throw new Refusal('document_id_invalid', { about: 'Only reserved document ids may start with underscore.' })
  }
}

function requireSize({ id, sent, who }: Edit): void {
  const most = who.identity.isAdmin ? MAX_BYTES.admin : MAX_BYTES.other
  if (Buffer.byteLength(JSON.stringify([...sent.members])) > most)
    throw new Refusal('document_too_large', { about: id })
}

function requireAllowed(deps: UsersDeps, edit: Edit, old: User | undefined, password: SentPassword): OwnChange {
  const { id, sent, who } = edit
  const { isDeletion, members } = sent
  const isKept = keepsPassword(password, old)
  // what the new password replaces is not judged
  const keepsStored = password.kind === 'new' || isKept
  const { prefix } = deps
  const flaw = checkProposal({ id, prefix, isDeletion, members, old, keepsPassword: keepsStored, who: who.identity })
  if (flaw !== undefined) throw new Refusal('forbidden', { about: flaw })
  const setsPassword = password.kind === 'new' || !isKept || changesSecondFactor(sent, old)
  const change = { old, isDeletion, setsPassword, keepsPassword: isKept }
  requireOwnChange(who.identity, change, deps.settings())
  return change
}

function changesSecondFactor({ members }: SentDocument, old: User | undefined): boolean {
  const [, before] = old?.document.members.find(([name]) => name === 'totp') ?? []
  return JSON.stringify(members.get('totp')) !== JSON.stringify(before)
}

async function store(
  { directory }: UsersDeps,
  { sent, caller }: Edit,
  old: User | undefined,
  sentPassword: SentPassword,
): Promise<string> {
  if (sent.isDeletion) {
    if (!old) throw new Refusal('not_found')
    return directory.removeUser(old.name, old.document.revision)
  }
  const password = toNewPassword(sentPassword, old)
  const document = toPayload(sent, sentPassword)
  const options = { ...caller, ...(password ? { password } : {}) }
  if (!old) {
    // `checkProposal` has seen that it is one
    const name = sent.members.get('name') as string
    const made = await directory.createUser({ name, ...document, ...(password ? { password } : {}) }, caller)
    return made.document.revision
  }
  const change = (user: User): User => ({ ...user, document: { ...user.document, ...document } })
  return (await directory.changeUser(old.name, old.document.revision, change, options)).document.revision
}

/** Roles and all that has no place of its own in a user. */
function toPayload({ members }: SentDocument, password: SentPassword): Pick<User['document'], 'roles' | 'members'> {
  // read from JSON, and judged
  const others = [...members] as [string, Json][]
  return {
    roles: members.get('roles') as readonly string[],
    members: others.filter(([name]) => !CORE_MEMBERS.has(name) && !isPasswordMember(name, password)),
  }
}
