import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCertificateHandler } from '../../src/auth/certificate.ts'
import type { CredentialSource, PresentedCertificate } from '../../src/auth/handler.ts'
import { toAccount } from '../../src/directory/account.ts'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import { readVerdict } from './read-verdict.ts'

const FROM_MS = Date.UTC(2030, 0, 1)
const TO_MS = Date.UTC(2031, 0, 1)

const CERTIFICATE: PresentedCertificate = {
  commonNames: ['ada'],
  validFromMs: FROM_MS,
  validToMs: TO_MS,
  problem: undefined,
}

const SOURCE: CredentialSource = {
  signal: new AbortController().signal,
  client: { address: '192.0.2.1', directAddress: '192.0.2.1', scheme: 'https', isTrusted: false },
  certificate: CERTIFICATE,
  rawHeaders: [],
  header: () => undefined,
  isRepeated: () => false,
  cookie: () => undefined,
  cookieValues: () => [],
  addToUnauthorized: () => {},
}

async function check(nowMs: number, source: CredentialSource = SOURCE, totp?: string) {
  const account = toAccount(createEmptyUser('ada', { scheme: 'unusable', reason: 'absent', members: {} }))
  const handler = createCertificateHandler({
    directory: { findAccount: async () => ({ ...account, totp }) },
    clock: { nowMs: () => nowMs },
  })
  const verdict = await readVerdict(handler, source)
  return verdict.kind === 'refused' ? verdict.error.detail : verdict.kind
}

describe('the certificate of an open connection', () => {
  it('is checked again with every request', async () => {
    assert.equal(await check(FROM_MS - 1), 'client certificate: it is not valid yet')
    assert.equal(await check(FROM_MS), 'accepted')
    assert.equal(await check(TO_MS - 1), 'accepted')
    assert.equal(await check(TO_MS), 'client certificate: it has expired')
  })

  it('does not replace a second factor', async () => {
    assert.equal(await check(FROM_MS, SOURCE, 'anything'), 'client certificate: the user has a second factor')
  })

  it('is ignored if a trusted proxy names another client under a header of its own', async () => {
    const client = { ...SOURCE.client, address: '198.51.100.1' }
    assert.equal(await check(FROM_MS, { ...SOURCE, client }), 'absent')
  })
})
