/**
 * External accounts: accounts at identity providers that sign in as a user. One is known by issuer and subject, never by
 * a name or an address: users may be able to choose these at the provider, and would take over the user of that name.
 */
import { nowSeconds } from '../base/clock.ts'
import { digestHex } from '../base/encoding.ts'
import { badRequest, isClientError, Refusal } from '../base/errors.ts'
import type { DirectoryParts } from './parts.ts'
import { checkName } from './users/names.ts'
import { type ExternalAccount, toExternalKey, type User, type UserDraft, withField } from './users/user.ts'
import type { UserEditor } from './users/user-operations.ts'

type ExternalKey = Pick<ExternalAccount, 'issuer' | 'subject'>

/** A user to be created at the first sign-in. */
export interface FirstSignIn extends Omit<ExternalAccount, 'linkedAt'> {
  /** What the provider calls the user. */
  readonly name: string
  readonly issuedAt: number
}

export const isLinkedTo = (owner: { readonly links?: readonly ExternalAccount[] }, key: ExternalKey): boolean =>
  owner.links?.some(({ issuer, subject }) => issuer === key.issuer && subject === key.subject) ?? false

const MAX_LINKS = 20
const MAX_SUBJECT = 255

export function createExternalAccounts(parts: DirectoryParts, editor: UserEditor) {
  const { store, clock } = parts
  const listOwners = async (key: ExternalKey): Promise<readonly string[]> => {
    const text = toExternalKey(key)
    const found = await store.searchUsers({ kind: 'external', from: text, to: text }, { key: text, name: '' })
    return found.filter(({ record }) => isLinkedTo(record, key)).map(({ record }) => record.name)
  }
  /** The name of the linked user, active or not. Two users with the same external account are refused, as none is right. */
  const findLinked = async (key: ExternalKey): Promise<string | undefined> => {
    const [name, ...others] = await listOwners(key)
    return others.length === 0 ? name : undefined
  }
  return {
    findLinked,
    /** An external account belongs to one user. */
    async linkAccount(name: string, given: Omit<ExternalAccount, 'linkedAt'>): Promise<User> {
      requireKey(given)
      const owner = (await listOwners(given))[0]
      if (owner !== undefined && owner !== name) throw new Refusal('conflict', { reason: TAKEN })
      return editor.changeUser(name, (user) => withLink(user, { ...given, linkedAt: nowSeconds(clock) }))
    },
    /** Ends all sessions of the user: some may have been opened with the external account. */
    async unlinkAccount(name: string, key: ExternalKey): Promise<void> {
      await editor.changeUser(name, (user) => {
        if (!isLinkedTo(user, key)) throw new Refusal('not_found', { reason: 'The user has no such external account.' })
        return withField(
          user,
          'links',
          user.links?.filter((link) => !isLinkedTo({ links: [link] }, key)),
        )
      })
      await editor.signOut(name)
    },
    /**
     * Creates the user of an external account and returns its name. A name that is taken, not allowed or that of an
     * administrator gets a suffix. The suffix depends on the account alone, so two first sign-ins at the same time create
     * one user. `undefined`: a user of this name was deleted after the token was issued.
     */
    async createLinked({ name, issuedAt, ...account }: FirstSignIn): Promise<string | undefined> {
      requireKey(account)
      const mark = digestHex('sha256', toExternalKey(account)).slice(0, 8)
      const links = [{ ...account, linkedAt: nowSeconds(clock) }]
      for (const candidate of [name, `${name}-${mark}`, `${account.provider}-${mark}`]) {
        if (checkName(candidate) !== undefined) continue
        if (await isDeletedSince(parts, candidate, issuedAt)) return undefined
        const created = await createFree(editor, { name: candidate, links })
        if (created) return created
        const linked = await findLinked(account)
        if (linked !== undefined) return linked
      }
      return undefined
    },
  }
}

const TAKEN = 'Another user has this external account already.'

function requireKey({ issuer, subject }: ExternalKey): void {
  const isText = (text: string) =>
    text !== '' && text.length <= MAX_SUBJECT && text.isWellFormed() && !/\p{Cc}/u.test(text)
  if (!isText(issuer) || !isText(subject))
    throw badRequest(`issuer and subject must have 1 to ${MAX_SUBJECT} characters.`)
}

function withLink(user: User, link: ExternalAccount): User {
  const links = user.links ?? []
  if (isLinkedTo(user, link)) return user
  if (links.length >= MAX_LINKS) throw badRequest(`a user has at most ${MAX_LINKS} external accounts`)
  return withField(user, 'links', [...links, link])
}

/** A deleted user is not created again by a token that was issued before. */
async function isDeletedSince({ store }: DirectoryParts, name: string, issuedAt: number): Promise<boolean> {
  const record = (await store.findUser(name))?.record
  return record?.kind === 'tombstone' && issuedAt <= record.sessionEpoch.seconds
}

/** `undefined`: the name cannot be used. */
async function createFree(editor: UserEditor, draft: UserDraft): Promise<string | undefined> {
  try {
    return (await editor.createUser(draft)).name
  } catch (error) {
    if (isClientError(error)) return undefined
    throw error
  }
}
