/** Signs accounts in with their passkeys, and adds new ones. */
import type {
  AddingRequest,
  ExpectedPasskey,
  NewPasskey,
  PasskeyProof,
  PasskeyRequest,
  Passkeys,
} from '../../auth/passkey-sign-in.ts'
import { nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { PRODUCT } from '../../base/product.ts'
import { type Account, idOf } from '../../directory/account.ts'
import type { Caller } from '../../directory/caller.ts'
import { PASSKEY_FORM, type Passkey, toPasskeyKey } from '../../directory/users/user.ts'
import type { ModuleCore } from '../module.ts'
import { CHALLENGE_SECONDS, type Challenges, type ChallengeUse, createChallenges, USED } from './challenges.ts'
import { noteCounter } from './counters.ts'
import { toRpId } from './options.ts'
import { listOrigins } from './settings.ts'
import { KEY_ALGORITHMS, readResponse, refusePasskey, verifyNew, verifySigned } from './verify.ts'

interface Deps extends ModuleCore {
  readonly challenges: Challenges
}

export function createPasskeyService(core: ModuleCore): Passkeys {
  const { liveConfig, config, directory, kernel } = core
  const challenges = createChallenges({ directory, clock: kernel.clock, ownKey: () => liveConfig.get().ownKey })
  const deps = { ...core, challenges }
  return {
    createSignInOptions: () => ({
      challenge: challenges.create(SIGN_IN),
      rpId: toRpId(config.get()),
      userVerification: 'required',
      timeout: CHALLENGE_SECONDS * 1000,
    }),
    requireAccount: (response, request, expected) => requireAccount(deps, response, request, expected),
    createProofOptions: (proof) => ({
      challenge: challenges.create(toProofUse(proof)),
      rpId: toRpId(config.get()),
      allowCredentials: toDescriptors(proof.account),
      userVerification: 'required',
      timeout: CHALLENGE_SECONDS * 1000,
    }),
    createAddOptions(account, sessionId) {
      // before the authenticator keeps one that no account has
      requireRoom(account.passkeys)
      return {
        challenge: challenges.create(toAddUse(account, sessionId)),
        rp: { id: toRpId(config.get()), name: config.get().console.name || PRODUCT.name },
        user: { id: toHandle(account), name: account.name, displayName: account.name },
        pubKeyCredParams: KEY_ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: toDescriptors(account),
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        timeout: CHALLENGE_SECONDS * 1000,
      }
    },
    add: (account, caller, given, request) => add(deps, { account, caller }, given, request),
  }
}

const SIGN_IN: ChallengeUse = ['sign-in']

const toAddUse = (account: Account, sessionId = ''): ChallengeUse => ['add', idOf(account), sessionId]

const toProofUse = ({ account, sessionId, target }: PasskeyProof): ChallengeUse => [
  'proof',
  idOf(account),
  sessionId,
  target,
]

const toDescriptors = ({ passkeys = [] }: Account) =>
  passkeys.map(({ id, transports }) => ({ type: 'public-key', id, transports }))

/** By which the authenticator knows the account. The id never changes, and no later account of the name has it. */
const toHandle = (account: Account): string => Buffer.from(idOf(account)).toString('base64url')

const toExpected = ({ config, challenges }: Deps, use: ChallengeUse, { client }: PasskeyRequest, maxSeconds = 0) => ({
  rpId: toRpId(config.get()),
  origins: listOrigins(config.get(), client),
  checkChallenge: (challenge: string) =>
    challenges.check(challenge, use, Math.min(maxSeconds || CHALLENGE_SECONDS, CHALLENGE_SECONDS)),
})

/** The challenge is checked first, which costs little, and spent last: a response that is refused must not fill the store. */
async function requireAccount(
  deps: Deps,
  response: unknown,
  request: PasskeyRequest,
  { owner, proof }: ExpectedPasskey = {},
): Promise<Account> {
  const { directory, kernel } = deps
  const { id, challenge, userHandle } = readResponse(response)
  const expected = toExpected(deps, proof ? toProofUse(proof) : SIGN_IN, request, proof?.maxAgeSeconds)
  const problem = expected.checkChallenge(challenge)
  if (problem !== undefined) throw refusePasskey(problem)
  const owners = await directory.listPasskeyOwners({ rpId: expected.rpId, id })
  // an authenticator that was given the ids of the account need not say whose passkey it has used
  const handle = proof && userHandle === '' ? toHandle(proof.account) : userHandle
  const account = owners.find((each) => toHandle(each) === handle && (!owner || owner.name === each.name))
  const passkey = account?.passkeys?.find((each) => each.id === id)
  if (!account || !passkey) throw refusePasskey('no active account has it')
  const counter = await verifySigned(response, passkey, expected)
  if (!(await deps.challenges.spend(challenge))) throw refusePasskey(USED)
  if (await noteCounter(kernel.store.statements, passkey, counter))
    kernel.events.record('passkey.counter', { subject: account.name, passkey: passkey.label })
  directory.noteTokenUse(account.name, toPasskeyKey(passkey))
  return account
}

interface Owner {
  readonly account: Account
  readonly caller: Caller
}

async function add(deps: Deps, { account, caller }: Owner, { label, response }: NewPasskey, request: AddingRequest) {
  const { directory, challenges, kernel } = deps
  const verified = await verifyNew(response, toExpected(deps, toAddUse(account, request.sessionId), request)).catch(
    explain,
  )
  if ((await directory.listPasskeyOwners(verified)).length > 0) throw new Refusal('conflict', { reason: TAKEN })
  if (!(await challenges.spend(readResponse(response).challenge)))
    throw badRequest(`The passkey was not accepted: ${USED}.`)
  const passkey = { ...verified, label, createdAt: nowSeconds(kernel.clock) }
  const renewCodes = await directory.preparePasskeyCodes(account, caller)
  let isFirst = false
  const change = (others: readonly Passkey[]) => {
    isFirst = others.length === 0 && account.totp === undefined
    return withNew(others, passkey)
  }
  // where a role needs a second factor, the first passkey is one: sessions without it end
  await directory.changePasskeys(account.name, caller, change, account.mustSetUpFactor === true)
  kernel.events.record('passkey.added', { subject: account.name, passkey: label })
  // only once it is stored: if two are added at the same time, one of them is the first, and only that one may replace
  // the codes
  return isFirst ? renewCodes() : undefined
}

const TAKEN = 'This passkey is in use already.'

/** The user is signed in and may know why. */
function explain(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== 'credential_refused') throw error
  throw badRequest(`The passkey was not accepted: ${error.detail}.`)
}

function requireRoom(others: readonly Passkey[] = []): void {
  const { maxPerUser: max } = PASSKEY_FORM
  if (others.length >= max) throw badRequest(`An account has at most ${max} passkeys.`)
}

function withNew(others: readonly Passkey[], passkey: Passkey): readonly Passkey[] {
  requireRoom(others)
  if (others.some(({ id }) => id === passkey.id)) throw new Refusal('conflict', { reason: TAKEN })
  return [...others, passkey]
}
