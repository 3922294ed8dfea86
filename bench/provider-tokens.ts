// Access tokens of an identity provider, beside JWTs of [jwt_keys] and beside the signature alone.

import { createPublicKey, verify } from 'node:crypto'
import { createJwtHandler } from '../src/auth/jwt.ts'
import { SYSTEM_CLOCK } from '../src/base/clock.ts'
import { SILENT_LOG } from '../src/base/log.ts'
import { PROGRAM } from '../src/directory/caller.ts'
import { readClaimPath } from '../src/keys/document-claims.ts'
import { readJwtKeys } from '../src/keys/jwt-keys.ts'
import { createProviderKeys } from '../src/modules/providers/keys.ts'
import { createProviderTokens } from '../src/modules/providers/tokens.ts'
import { openTestNode } from '../test/support/directory.ts'
import { AUDIENCE, startProvider } from '../test/support/provider.ts'
import { median, ratio } from './figures.ts'

const TOKENS = 1000
const REPEATS = 50
const LEAST_SHARE = 0.9
const NO_ROLES = []

const toSource = (token) => ({ header: () => `Bearer ${token}` })

/** A provider whose account `u-1` is linked to a user, and the handler of the document door. */
async function openScene(scope) {
  const provider = await startProvider(scope)
  const { issuer } = provider
  const { directory } = await openTestNode(scope, { clock: SYSTEM_CLOCK })
  await directory.createUser({ name: 'ada' }, PROGRAM)
  await directory.linkAccount('ada', PROGRAM, { provider: 'staff', issuer, subject: 'u-1' })
  const place = { name: 'staff', issuer, issuers: [issuer], discovery: issuer, jwksUri: '' }
  const keys = createProviderKeys(place, 86_400_000, SYSTEM_CLOCK, SILENT_LOG)
  await keys.renew()
  const [jwk] = JSON.parse(await (await fetch(`${issuer}/keys`)).text()).keys
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const [jwtKeys, rules] = [readJwtKeys([{ key: 'ec:1', text: pem }]), { required: [], roles: readClaimPath('roles') }]
  /** With empty caches. */
  const createHandler = (users) => {
    const claims = {
      audience: [AUDIENCE],
      clients: [],
      scopes: [],
      clientId: '',
      name: readClaimPath('sub'),
      factors: [],
      trustsEmail: false,
      skewSeconds: 30,
    }
    const known = {
      ...{ name: 'staff', place, keys, users, client: undefined, keepsNames: false, roleMap: [] },
      algorithms: ['ES256'],
      rules: { ...claims, roles: undefined },
    }
    const settings = { maxLifetimeSeconds: () => 0, factorRoles: () => NO_ROLES }
    const deps = { providers: new Map([[issuer, known]]), directory, ...settings, clock: SYSTEM_CLOCK }
    return createJwtHandler({
      keys: () => jwtKeys,
      rules: () => rules,
      directory,
      findIssued: async () => undefined,
      findExternalToken: createProviderTokens(deps, 'jwt'),
      clock: SYSTEM_CLOCK,
    })
  }
  return { signToken: provider.signToken, createHandler, publicKey }
}

async function accept(handler, token) {
  const verdict = await handler.read(toSource(token))
  if (verdict.kind !== 'accepted') throw new Error(`refused: ${verdict.error?.message}`)
}

function verifyBare(publicKey, token) {
  const [signed, signature] = [token.slice(0, token.lastIndexOf('.')), token.slice(token.lastIndexOf('.') + 1)]
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
  if (!verify('sha256', Buffer.from(signed), key, Buffer.from(signature, 'base64url'))) throw new Error('not valid')
}

/** One after the other for each token, so that other load of the machine affects all alike. Returns the median of each. */
async function measureInTurn(tokens, contestants) {
  const times = contestants.map(() => [])
  for (const token of tokens)
    for (const [index, check] of contestants.entries()) {
      const startUs = performance.now() * 1000
      await check(token)
      times[index].push(performance.now() * 1000 - startUs)
    }
  return times.map(median)
}

async function measure(scope, runs) {
  const { signToken, createHandler, publicKey } = await openScene(scope)
  const tokens = Array.from({ length: TOKENS * runs }, (_, index) => signToken({ jti: String(index) }))
  const [known, linked, asserted] = [createHandler('link'), createHandler('link'), createHandler('asserted')]
  const jwt = signToken({ iss: 'https://other.example.com', sub: 'ada', roles: [] })
  const repeat = async (token) => {
    for (let done = 0; done < REPEATS; done += 1) await accept(known, token)
  }
  const contestants = {
    'JWT of [jwt_keys], repeated': () => repeat(jwt),
    'token of a linked account, repeated': () => repeat(tokens[0]),
    '`crypto.verify` alone, ES256': (token) => verifyBare(publicKey, token),
    'new token of a linked account, ES256': (token) => accept(linked, token),
    'new token of an asserted user, ES256': (token) => accept(asserted, token),
  }
  const times = await measureInTurn(tokens, Object.values(contestants))
  return Object.keys(contestants).map((name, index) => {
    const [us, baseUs] = index < 2 ? [times[index] / REPEATS, times[0] / REPEATS] : [times[index], times[2]]
    return { name, us, share: baseUs / us }
  })
}

export const bench = {
  title: 'Tokens of identity providers',
  about:
    'Time of the Bearer handler of the document door for a token, in turn with its baseline. Goals: a repeated token costs\n' +
    `what a repeated JWT costs, and a token that was never seen has ${LEAST_SHARE} of the speed of its signature alone.`,
  runs: 5,
  async run(runs) {
    const clean: (() => unknown)[] = []
    try {
      const found = await measure({ after: (work) => clean.push(work) }, runs)
      return {
        columns: ['', 'time', 'of the speed of its baseline'],
        rows: found.map(({ name, us, share }) => [name, `${us.toFixed(1)} µs`, ratio(share)]),
        isGoalMet: found.every(({ share }) => share >= LEAST_SHARE),
      }
    } finally {
      for (const work of clean) await work()
    }
  },
}
