/** Passkeys of users and administrators. */
import { type Account, needsSecondStep } from './account.ts'
import type { Caller } from './caller.ts'
import type { ChangePasskeys } from './deps.ts'
import type { DirectoryParts } from './parts.ts'
import { findConfirming, requireFactorProof } from './password-proof.ts'
import { type Passkey, toPasskeyKey, type User, withField } from './users/user.ts'
import type { UserEditor } from './users/user-operations.ts'

export function createPasskeys(parts: DirectoryParts, editor: UserEditor) {
  const { administration, findAccount, store } = parts
  return {
    /**
     * `change` throws a `Refusal` if it is not possible. Users with a second factor must have proved it: a passkey
     * replaces it. A passkey that is removed ends all sessions and tokens of the account. `isFactor`: one that is added is
     * the second factor from now on, which ends all but that of the request.
     */
    async changePasskeys(name: string, caller: Caller, change: ChangePasskeys, isFactor = false): Promise<void> {
      const { confirmed } = await parts.begin(caller)
      const account = await findAccount(name)
      if (account && needsSecondStep(account)) requireFactorProof(account, confirmed, parts.ownKey())
      if (administration.accounts().has(name)) return changeAdministrator(parts, { name, caller, isFactor }, change)
      const options = { endsSessions: isFactor, confirmsFactor: isFactor }
      await editor.changeUser(name, caller, (user) => withPasskeys(user, change(user.passkeys ?? [])), options)
    },
    /** The accounts with this passkey that can sign in now. It is one, unless a store was changed by hand. */
    async listPasskeyOwners(key: Pick<Passkey, 'rpId' | 'id'>): Promise<readonly Account[]> {
      const text = toPasskeyKey(key)
      const found = await store.searchUsers({ kind: 'passkey', from: text, to: text }, { key: text, name: '' })
      const names = new Set([...administration.accounts().keys(), ...found.map(({ record }) => record.name)])
      const accounts = await Promise.all(names.values().map(findAccount))
      return accounts.flatMap((account) =>
        account?.passkeys?.some((passkey) => toPasskeyKey(passkey) === text) ? account : [],
      )
    },
  }
}

const withPasskeys = (user: User, passkeys: readonly Passkey[]): User =>
  withField(user, 'passkeys', passkeys.length === 0 ? undefined : passkeys)

interface Target {
  readonly name: string
  readonly caller: Caller
  readonly isFactor: boolean
}

async function changeAdministrator(parts: DirectoryParts, { name, caller, isFactor }: Target, change: ChangePasskeys) {
  const { administration, confirmed } = await parts.begin(caller)
  const ending = isFactor ? { kept: findConfirming(name, confirmed) } : undefined
  if (!(await administration.setPasskeys(name, change, ending))) return
  parts.revocations.notify({ kind: 'account', name })
  parts.events.record('session.revoked', { subject: name, reason: 'passkeys changed' })
}
