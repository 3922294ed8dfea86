// The passkeys of the user, and signing in with them.
import { type AccountRequests, readOptions } from './account-requests.ts'
import type { Authenticator } from './authenticator.ts'
import type { Client, ListedPasskey } from './client.ts'
import type { GivenCredentials } from './credential.ts'
import { findPasskeys } from './platform.ts'
import { type AddPasskeyResult, ClientError, type PasskeyEnd, read, type SignInResult } from './results.ts'
import type { SessionKeeper } from './session-keeper.ts'

interface PasskeyDeps {
  readonly authenticator: Authenticator
  readonly keeper: SessionKeeper
  open(given: GivenCredentials): Promise<SignInResult>
}

type PasskeyCalls = Pick<Client, 'signInWithPasskey' | 'passkeys'>

export function createPasskeyCalls(
  { call, callProved, askOptions }: AccountRequests,
  { authenticator, keeper, open }: PasskeyDeps,
): PasskeyCalls {
  // the list of the name field would wait on
  keeper.onChange((change) => change === 'signed_in' && authenticator.stop())
  return {
    signInWithPasskey: ({ name, password, ...choice } = {}) =>
      orEnd(async () => {
        const passkey = await authenticator.sign(() => askOptions('passkey-options', {}), choice)
        return open({ name, password, passkey })
      }),
    passkeys: {
      areAvailable: () => findPasskeys() !== undefined,
      list: async () => readList(await call('GET', 'passkeys')),
      add: (label, proof) =>
        orEnd(() =>
          orRejected(async () => {
            const ask = async () => readOptions(await callProved('POST', 'passkeys/options', proof))
            const response = await authenticator.create(ask)
            return readAdded(await call('POST', 'passkeys', { label, response }))
          }),
        ),
      rename: async (id, label) => void (await readList(await call('PUT', toPath(id), { label }))),
      async remove(id, proof) {
        await readList(await callProved('DELETE', toPath(id), proof))
        // with tokens, this session has ended too
        await keeper.check().catch(() => {})
      },
      async replacePassword() {
        await read(await callProved('DELETE', 'password', { passkey: true }))
        await keeper.check().catch(() => {})
      },
    },
  }
}

const readList = async (response: Response) => (await read<{ passkeys: readonly ListedPasskey[] }>(response)).passkeys

async function readAdded(response: Response): Promise<AddPasskeyResult> {
  const { recoveryCodes } = await read<{ recoveryCodes?: readonly string[] }>(response)
  return { status: 'added', ...(recoveryCodes && { recoveryCodes }) }
}

/** What the server does not accept is a result: before the authenticator makes a passkey, or after. */
async function orRejected(work: () => Promise<AddPasskeyResult>): Promise<AddPasskeyResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClientError && [400, 409].includes(error.status))
      return { status: 'rejected', reason: error.message }
    throw error
  }
}

/** What the user or the browser has ended is a result. */
async function orEnd<T>(work: () => Promise<T>): Promise<T | PasskeyEnd> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClientError && error.status === 0) return { status: error.code as PasskeyEnd['status'] }
    throw error
  }
}

const toPath = (id: string): string => `passkeys/${encodeURIComponent(id)}`
