// The user's own account: sign-up, password, second factor, sessions, sign-out, deletion.
import type { AccountDeps, AccountRequests } from './account-requests.ts'
import type { AccountExport, Client, ListedSession } from './client.ts'
import { toJson } from './credential.ts'
import { ClientError, findLock, read, toDoorError, toError } from './results.ts'

type AccountCalls = Pick<
  Client,
  | (
      | 'signUp'
      | 'signOut'
      | 'database'
      | 'exportAccount'
      | 'deleteAccount'
      | 'sessions'
      | 'changePassword'
      | 'secondFactor'
    )
  | ('requestSignUp' | 'confirmSignUp')
  | ('requestPasswordReset' | 'confirmPasswordReset' | 'changeAddress' | 'confirmAddress')
>

export function createAccountCalls(
  { send, change, call, callProved, prove }: AccountRequests,
  { base, account, credential, keeper }: Omit<AccountDeps, 'authenticator'>,
): AccountCalls {
  /** The password has been changed, so a failure must not reach the caller. */
  const signInAgain = async (name: string, password: string): Promise<void> => {
    const opened = await credential.signIn({ name, password }).catch(() => undefined)
    if (opened?.ok) keeper.signedIn(await credential.accept(opened))
  }
  const leave = async (): Promise<void> => {
    await credential.signOut()
    keeper.signedOut()
  }
  /** `done`: the status of success; `others`: those of errors, by their codes. */
  const toResult = async <S extends string>(response: Response, done: S, others: Readonly<Record<string, S>> = {}) => {
    if (response.ok) return { status: done }
    const error = findLock(response) ?? (await toError(response))
    if (!('code' in error)) return error
    const status = others[error.code]
    if (status) return { status }
    if ([400, 409].includes(error.status)) return { status: 'rejected' as const, reason: error.message }
    throw error
  }
  return {
    async signUp(name, password, members = {}) {
      if (typeof name !== 'string' || typeof password !== 'string')
        throw new TypeError('signUp takes two strings: signUp(name, password).')
      const id = encodeURIComponent(`org.couchdb.user:${name}`)
      const response = account
        ? await call('POST', 'sign-up', { ...members, name, password })
        : await change(() =>
            credential.send(
              `${base}_users/${id}`,
              toJson('PUT', { ...members, name, password, roles: [], type: 'user' }),
            ),
          )
      if (response.ok) return { status: 'signed_up' }
      if (response.status === 409) return { status: 'name_taken' }
      const error = findLock(response) ?? toDoorError(await toError(response), base)
      if (!('code' in error)) return error
      if (error.code === 'not_a_door') throw error
      // the document door rejects a name with 403
      if (error.status === 400 || (error.status === 403 && !account))
        return { status: 'rejected', reason: error.message }
      if (error.status === 401) throw new ClientError(401, error.code, SIGN_UP_CLOSED)
      throw error
    },
    async signOut({ everywhere = false, ...proof } = {}) {
      const path = 'sessions/end-others'
      const proven = everywhere && (await prove('POST', path, proof))
      await change(async () => {
        const ended = proven ? await send('POST', path, proven) : undefined
        // 401: this session has ended already
        if (ended && ended.status !== 401) await read(ended)
        await leave()
      })
    },
    async database() {
      const { database } = await read<{ database?: string }>(await call('GET', ''))
      return database ? base + encodeURIComponent(database) : null
    },
    exportAccount: async () => read<AccountExport>(await call('GET', 'export')),
    async deleteAccount(proof) {
      const proven = await prove('DELETE', '', proof)
      await change(async () => {
        await read(await send('DELETE', '', proven))
        // the account is gone, even if the browser cannot be told to forget its cookie
        await leave().catch(() => keeper.signedOut())
      })
    },
    sessions: {
      list: async () => (await read<{ sessions: readonly ListedSession[] }>(await call('GET', 'sessions'))).sessions,
      async end(id, proof) {
        const path = `sessions/${encodeURIComponent(id)}`
        const proven = await prove('DELETE', path, proof)
        await change(async () => {
          if ((await read<ListedSession>(await send('DELETE', path, proven))).isCurrent) await leave()
        })
      },
    },
    async changePassword(current, password) {
      const proof = typeof current === 'string' ? { currentPassword: current } : current
      const proven = await prove('PUT', 'password', proof)
      if (credential.endsWithPassword && !keeper.live) await keeper.renew()
      const name = keeper.live?.session.name
      const response = await change(async () => {
        const changed = await send('PUT', 'password', { password, ...proven })
        if (changed.ok && credential.endsWithPassword && name !== undefined) await signInAgain(name, password)
        return changed
      })
      if (response.ok) {
        // other tabs go on, or the session has ended: a second factor needs a code
        await keeper.check().catch(() => {})
        return { status: 'changed' }
      }
      const error = findLock(response) ?? (await toError(response))
      if (!('code' in error)) return error
      if (error.code === 'password_required') return { status: 'wrong_password' }
      if (error.code === 'password_refused') return { status: 'rejected', reason: error.message }
      throw error
    },
    requestSignUp: async (name, address) =>
      toResult(await call('POST', 'sign-up/request', { name, address }), 'requested', { conflict: 'name_taken' }),
    confirmSignUp: async (token, password) =>
      toResult(await call('POST', 'sign-up/confirm', { token, password }), 'confirmed', INVALID_LINK),
    requestPasswordReset: async (address) => toResult(await call('POST', 'password-reset', { address }), 'requested'),
    confirmPasswordReset: async (token, password) =>
      toResult(await call('POST', 'password-reset/confirm', { token, password }), 'confirmed', INVALID_LINK),
    changeAddress: async (address, proof) =>
      toResult(await callProved('POST', 'address', proof, { address }), 'requested', {
        password_required: 'wrong_password',
      }),
    confirmAddress: async (token) =>
      toResult(await call('POST', 'address/confirm', { token }), 'confirmed', INVALID_LINK),
    secondFactor: {
      enrol: async (proof) => read(await callProved('POST', 'totp', proof)),
      confirm: async (secret, code, proof) =>
        toCodes(await read(await callProved('POST', 'totp/confirm', proof, { secret, code }))),
      disable: async (proof) => void (await read(await callProved('DELETE', 'totp', proof))),
      recoveryCodes: async (proof) => toCodes(await read(await callProved('POST', 'recovery-codes', proof))),
    },
  }
}

const SIGN_UP_CLOSED =
  'Sign-up is closed: chttpd_auth.allow_sign_up. Where mail.sign-up is verified, call requestSignUp.'

const INVALID_LINK = { not_found: 'invalid_link' } as const

const toCodes = ({ recoveryCodes }: { readonly recoveryCodes: readonly string[] }) => recoveryCodes
