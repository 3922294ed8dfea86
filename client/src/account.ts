// The user's own account: sign-up, password, second factor, sign-out.
import { type Credential, JSON_HEADERS } from './credential.ts'
import { type ChangePasswordResult, ClientError, findLock, type SignUpResult, toDoorError, toError } from './results.ts'
import type { SessionKeeper } from './session-keeper.ts'

interface AccountDeps {
  readonly base: string
  /** The routes of a program, if it has them. */
  readonly account: string | undefined
  readonly credential: Credential
  readonly keeper: SessionKeeper
}

/** The members of a user document that the application adds. */
export type OtherMembers = Readonly<Record<string, unknown>>

/** For a session that was opened a while ago, or not with the password. */
export interface PasswordProof {
  readonly currentPassword?: string
}

export function createAccountCalls({ base, account, credential, keeper }: AccountDeps) {
  const send = (method: string, url: string, body: unknown): Promise<Response> =>
    credential.send(url, { method, headers: JSON_HEADERS, body: JSON.stringify(body) })
  const own = account ?? `${base}_cardea/account/`
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    await keeper.renewIfDue()
    return keeper.change(work)
  }
  const call = (method: string, path: string, body: unknown) => change(() => send(method, own + path, body))
  const read = async <T>(response: Response): Promise<T> => {
    if (response.ok) return (await response.json()) as T
    throw await toError(response)
  }
  /** The password has been changed, so a failure must not reach the caller. */
  const signInAgain = async (name: string, password: string): Promise<void> => {
    const opened = await credential.signIn({ name, password }).catch(() => undefined)
    if (opened?.ok) keeper.signedIn(await credential.accept(opened))
  }
  return {
    /** Creates a user, if the server allows sign-up. It does not sign in. */
    async signUp(name: string, password: string, members: OtherMembers = {}): Promise<SignUpResult> {
      const id = encodeURIComponent(`org.couchdb.user:${name}`)
      const response = account
        ? await call('POST', 'sign-up', { ...members, name, password })
        : await change(() =>
            send('PUT', `${base}_users/${id}`, { ...members, name, password, roles: [], type: 'user' }),
          )
      if (response.ok) return { status: 'signed_up' }
      if (response.status === 409) return { status: 'name_taken' }
      const error = findLock(response) ?? toDoorError(await toError(response), base)
      if (!('code' in error)) return error
      if (error.code === 'not_a_door') throw error
      // the document door rejects a name with 403
      if (error.status === 400 || (error.status === 403 && !account))
        return { status: 'rejected', reason: error.message }
      if (error.status === 401) throw new ClientError(401, error.code, 'Sign-up is closed: chttpd_auth.allow_sign_up.')
      throw error
    },
    /** Ends this session; `everywhere`: all sessions of the user. */
    signOut: ({ everywhere = false } = {}): Promise<void> =>
      change(async () => {
        const ended = everywhere ? await send('POST', `${own}sessions/end-others`, {}) : undefined
        // 401: this session has ended already
        if (ended && ended.status !== 401) await read(ended)
        await credential.signOut()
        keeper.signedOut()
      }),
    /** Ends all other sessions of the user. */
    async changePassword(currentPassword: string, password: string): Promise<ChangePasswordResult> {
      if (credential.endsWithPassword && !keeper.live) await keeper.renew()
      const name = keeper.live?.session.name
      const response = await change(async () => {
        const changed = await send('PUT', `${own}password`, { password, current_password: currentPassword })
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
    /** One-time codes of an authenticator app. */
    secondFactor: {
      /** A new secret, and the URI to show as a QR code. It counts when it is confirmed. */
      enrol: async (): Promise<{ readonly secret: string; readonly uri: string }> =>
        read(await call('POST', 'totp', {})),
      /** Requires codes from now on, and ends all other sessions. Returns the recovery codes, which are shown once. */
      confirm: async (secret: string, code: string, proof: PasswordProof = {}): Promise<readonly string[]> =>
        toCodes(await read(await call('POST', 'totp/confirm', { secret, code, ...toProof(proof) }))),
      disable: async (proof: PasswordProof = {}): Promise<void> =>
        void (await read(await call('DELETE', 'totp', toProof(proof)))),
      /** Replaces the recovery codes. */
      recoveryCodes: async (proof: PasswordProof = {}): Promise<readonly string[]> =>
        toCodes(await read(await call('POST', 'recovery-codes', toProof(proof)))),
    },
  }
}

const toProof = ({ currentPassword }: PasswordProof) =>
  currentPassword === undefined ? {} : { current_password: currentPassword }

const toCodes = ({ recoveryCodes }: { readonly recoveryCodes: readonly string[] }) => recoveryCodes
