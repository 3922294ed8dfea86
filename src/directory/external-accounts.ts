/**
 * External accounts: accounts at identity providers that sign in as a user. One is known by issuer and subject, never by
 * a name or an address: users may be able to choose these at the provider, and would take over the user of that name.
 */
import { createLiveCache } from '../base/caches.ts'
import { nowSeconds } from '../base/clock.ts'
import { digestHex } from '../base/encoding.ts'
import { badRequest, isClientError, Refusal } from '../base/errors.ts'
import { type Caller, PROGRAM } from './caller.ts'
import type { DirectoryParts } from './parts.ts'
import { isNamedByAddress } from './users/apart.ts'
import { checkName } from './users/names.ts'
import { type ExternalAccount, toExternalKey, type User, type UserDraft, withField } from './users/user.ts'
import type { UserEditor } from './users/user-operations.ts'

type ExternalKey = Pick<ExternalAccount, 'issuer' | 'subject'>

/** A user to be created at the first sign-in. */
export interface FirstSignIn extends Omit<ExternalAccount, 'linkedAt'> {
  /** What the provider calls the user. */
  readonly name: string
  /** That of the user, if the provider is trusted for it. */
  readonly address: string | undefined
  readonly issuedAt: number
}

export const isSameAccount = (one: ExternalKey, two: ExternalKey): boolean =>
  one.issuer === two.issuer && one.subject === two.subject

export const isLinkedTo = (owner: { readonly links?: readonly ExternalAccount[] }, key: ExternalKey): boolean =>
  owner.links?.some((link) => isSameAccount(link, key)) ?? false

const MAX_LINKS = 20
const MAX_SUBJECT = 255

export function createExternalAccounts(parts: DirectoryParts, editor: UserEditor) {
  const { store, clock, settings, peekAccount } = parts
  const findRecords = async (kind: 'external' | 'external-once', key: ExternalKey) => {
    const text = toExternalKey(key)
    return (await store.searchUsers({ kind, from: text, to: text }, { key: text, name: '' })).map(
      ({ record }) => record,
    )
  }
  /** The owner of an account as last found. It counts while that user has the account: every change of a user is noticed. */
  const owners = createLiveCache<{ readonly name: string }>(() => settings().chttpd_auth.auth_cache_size)
  /** The names of the linked users, active or not. Several are refused, as none is right: an account belongs to one. */
  const listLinked = async (key: ExternalKey): Promise<readonly string[]> => {
    // not the digest, which takes longer; an issuer has no line break
    const text = `${key.issuer}\n${key.subject}`
    const known = peekAccount(owners.get(text)?.name ?? '')
    if (known && isLinkedTo(known, key)) return [known.name]
    const names = (await findRecords('external', key)).flatMap((record) =>
      record.kind === 'user' && isLinkedTo(record, key) ? record.name : [],
    )
    const [name] = names
    if (name !== undefined && names.length === 1) owners.set(text, { name })
    return names
  }
  return {
    listLinked,
    /** Throws `conflict` if another user has the external account. `change`: what else changes with it. */
    async linkAccount(
      name: string,
      caller: Caller,
      given: Omit<ExternalAccount, 'linkedAt'>,
      change = (user: User) => user,
    ): Promise<User> {
      requireKey(given)
      const link = { ...given, linkedAt: nowSeconds(clock) }
      return editor.changeUser(name, caller, (user) => withLink(change(user), link))
    },
    /** Creates a user whom the account signs in as. Throws `conflict` if the name, the address or the account is taken. */
    async createWithAccount(draft: UserDraft, caller: Caller, given: Omit<ExternalAccount, 'linkedAt'>): Promise<User> {
      requireKey(given)
      return editor.createUser({ ...draft, links: [{ ...given, linkedAt: nowSeconds(clock) }] }, caller)
    },
    /** Replaces the roles that the account gives its user. */
    async setLinkRoles(name: string, caller: Caller, key: ExternalKey, roles: readonly string[]): Promise<User> {
      const replace = (link: ExternalAccount): ExternalAccount => (isSameAccount(link, key) ? { ...link, roles } : link)
      return editor.changeUser(name, caller, (user) => withField(user, 'links', user.links?.map(replace)))
    },
    /** Ends all sessions of the user: some may have been opened with the external account. */
    async unlinkAccount(name: string, caller: Caller, key: ExternalKey): Promise<User> {
      const change = (user: User) => {
        if (!isLinkedTo(user, key)) throw new Refusal('not_found', { reason: 'The user has no such external account.' })
        const others = user.links?.filter((link) => !isSameAccount(link, key))
        return withField(user, 'links', others)
      }
      return editor.changeUser(name, caller, change, { endsSessions: true })
    },
    /**
     * Creates the user of an external account and returns its name. A name that is taken, not allowed or that of an
     * administrator gets a suffix. An address that another user has is left out. `undefined`: the account was unlinked, or its user deleted or signed out, after the token
     * was issued.
     */
    async createLinked({ name, address, issuedAt, ...account }: FirstSignIn): Promise<string | undefined> {
      requireKey(account)
      const former = await findRecords('external-once', account)
      if (former.some(({ sessionEpoch }) => issuedAt <= sessionEpoch.seconds)) return undefined
      const mark = digestHex('sha256', toExternalKey(account)).slice(0, 8)
      const links = [{ ...account, linkedAt: nowSeconds(clock) }]
      const verified = address && ({ text: address, verifiedAt: nowSeconds(clock), provenBy: 'provider' } as const)
      const drafts = [name, `${name}-${mark}`, `${account.provider}-${mark}`].flatMap((candidate): UserDraft[] => [
        ...(verified ? [{ name: candidate, links, address: verified }] : []),
        { name: candidate, links },
      ])
      for (const draft of drafts) {
        if (checkName(draft.name) !== undefined || (settings().addressesSignIn && !isNamedByAddress(draft))) continue
        const created = await createFree(editor, draft)
        if (created) return created
        // another first sign-in of the account may have been faster
        const [linked] = await listLinked(account)
        if (linked !== undefined) return linked
      }
      return undefined
    },
  }
}

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

/** `undefined`: the name cannot be used. */
async function createFree(editor: UserEditor, draft: UserDraft): Promise<string | undefined> {
  try {
    return (await editor.createUser(draft, PROGRAM)).name
  } catch (error) {
    if (isClientError(error)) return undefined
    throw error
  }
}
