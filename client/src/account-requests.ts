// Requests of the user's own account.
import type { Authenticator } from './authenticator.ts'
import type { PasswordProof } from './client.ts'
import { type Credential, toJson } from './credential.ts'
import { read } from './results.ts'
import type { SessionKeeper } from './session-keeper.ts'

export interface AccountDeps {
  readonly base: string
  /** The routes of a program, if it has them. */
  readonly account: string | undefined
  readonly credential: Credential
  readonly keeper: SessionKeeper
  readonly authenticator: Authenticator
}

export function createAccountRequests({ base, account, credential, keeper, authenticator }: AccountDeps) {
  const own = account ?? `${base}_cardea/account/`
  /** `path`: below the account; empty: the account itself. */
  const send = (method: string, path: string, body?: object) =>
    credential.send(path ? own + path : own.slice(0, -1), toJson(method, body))
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    await keeper.renewIfDue()
    return keeper.change(work)
  }
  /** The options of a passkey. */
  const askOptions = async (path: string, body: object) => readOptions(await change(() => send('POST', path, body)))
  /**
   * What the body of a request needs to prove the password. A passkey signs its method and path. Other tabs go on while
   * the user looks for it, so this is no part of the change.
   */
  const prove = async (method: string, path: string, { currentPassword, passkey }: PasswordProof = {}) => {
    if (!passkey) return currentPassword === undefined ? {} : { current_password: currentPassword }
    const request = `${method} /account${path && `/${path}`}`
    return { current_passkey: await authenticator.sign(() => askOptions('passkeys/proof-options', { request })) }
  }
  return {
    send,
    change,
    askOptions,
    prove,
    call: (method: string, path: string, body?: object) => change(() => send(method, path, body)),
    /** A request that needs a proof of the password. */
    async callProved(method: string, path: string, proof: PasswordProof | undefined, body: object = {}) {
      const proven = { ...body, ...(await prove(method, path, proof)) }
      return change(() => send(method, path, proven))
    },
  }
}

export const readOptions = async (response: Response) => (await read<{ options: object }>(response)).options

export type AccountRequests = ReturnType<typeof createAccountRequests>
