import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { ALGORITHMS } from '../../../src/keys/algorithms.ts'
import { createProviderKeys, fetchKeys } from '../../../src/modules/providers/keys.ts'
import { startProvider } from '../../support/provider.ts'
import { waitUntil } from '../../support/wait.ts'

const DAY_MS = 86_400_000
const toPlace = (issuer: string, others: object = {}) => ({
  name: 'test',
  issuer,
  issuers: [issuer],
  discovery: issuer,
  jwksUri: '',
  ...others,
})

describe('keys of an identity provider', () => {
  it('are used for a day while the provider is down, which is asked less and less often', async (t) => {
    const { issuer, state } = await startProvider(t)
    let nowMs = 0
    const keys = createProviderKeys(toPlace(issuer), DAY_MS, { nowMs: () => nowMs }, SILENT_LOG)
    assert.equal(keys.get(), undefined)
    await keys.renew()
    assert.ok(keys.get())
    assert.equal(state.fetches, 1)
    state.isDown = true
    nowMs = DAY_MS - 1000
    assert.ok(keys.get())
    await waitUntil(keys.isFailing)
    // counted from the failure: no request waits, and none asks the provider
    await keys.renew()
    assert.ok(keys.get())
    nowMs = DAY_MS + 1000
    assert.equal(keys.get(), undefined)
    state.isDown = false
    nowMs += 300_000
    await keys.renew()
    assert.ok(keys.get())
    assert.equal(keys.isFailing(), false)
    assert.equal(state.fetches, 2)
  })

  it('are asked for every five minutes at most while the provider is down, whatever the requests', async (t) => {
    const { issuer, state } = await startProvider(t)
    state.isDown = true
    let nowMs = 0
    const failures: string[] = []
    const log = { ...SILENT_LOG, warn: (text: string) => void failures.push(text) }
    const keys = createProviderKeys(toPlace(issuer), DAY_MS, { nowMs: () => nowMs }, log)
    for (; nowMs < DAY_MS; nowMs += 60_000) {
      keys.get()
      await keys.renew()
    }
    assert.ok(failures.length > 280 && failures.length <= DAY_MS / 300_000 + 7, String(failures.length))
  })

  it('are fetched once for requests at the same time', async (t) => {
    const { issuer, state } = await startProvider(t)
    const keys = createProviderKeys(toPlace(issuer), DAY_MS, { nowMs: () => 0 }, SILENT_LOG)
    await Promise.all(Array.from({ length: 50 }, () => keys.renew()))
    assert.equal(state.fetches, 1)
  })

  it('are known to each of many requests that wait for the next fetch', async (t) => {
    const { issuer, state } = await startProvider(t)
    let nowMs = 0
    const clock = { nowMs: () => nowMs }
    const keys = createProviderKeys(toPlace(issuer), DAY_MS, clock, SILENT_LOG)
    await keys.renew()
    nowMs = 4990
    const before = keys.get()
    const found = await Promise.all(Array.from({ length: 1000 }, () => keys.renew().then(() => keys.get())))
    assert.equal(state.fetches, 2)
    assert.ok(found.every((set) => set !== undefined && set !== before))
  })

  it('of one tenant of Entra ID verify no token of another one', async (t) => {
    const { issuer, state } = await startProvider(t)
    const isFor = async (owner: unknown) => {
      state.jwk = { issuer: owner }
      const keys = await fetchKeys(toPlace(issuer))
      const header = { algorithm: ALGORITHMS.get('ES256') ?? assert.fail(), typ: undefined, kid: '1' }
      return ['https://e.com/a', 'https://e.com/b'].map((each) => keys.find(header, each).kind === 'keys')
    }
    assert.deepEqual(await isFor('https://e.com/a'), [true, false])
    assert.deepEqual(await isFor('https://e.com/{tenantid}'), [true, true])
    assert.deepEqual(await isFor(undefined), [true, true])
    assert.deepEqual(await isFor('https://e.com/{x}'), [false, false])
    for (const noText of [['https://e.com/a'], null, 5]) await assert.rejects(isFor(noText), /no key to verify with/)
  })

  it('of all tenants that become those of one are other keys', async (t) => {
    const { issuer, state } = await startProvider(t)
    const fetchVersion = async (owner: string) => {
      state.jwk = { issuer: owner }
      const keys = await fetchKeys(toPlace(issuer))
      const found = keys.find({ algorithm: ALGORITHMS.get('ES256') ?? assert.fail(), typ: undefined, kid: '1' }, owner)
      return found.kind === 'keys' ? found.keys[0]?.version : undefined
    }
    const version = await fetchVersion('https://e.com/{tenantid}')
    assert.match(version ?? '', /^[0-9a-f]{64}$/)
    assert.notEqual(await fetchVersion('https://e.com/a'), version)
  })

  const wrong: readonly [name: string, discovery: object, reason: RegExp][] = [
    ['names another issuer', { issuer: 'https://evil.example.com' }, /its issuer is "https:\/\/evil/],
    ['has no keys', { jwks_uri: undefined }, /jwks_uri is missing/],
    ['has keys at an address without TLS', { jwks_uri: 'http://id.example.com/keys' }, /not https/],
  ]
  for (const [name, discovery, reason] of wrong)
    it(`are not fetched if the discovery document ${name}`, async (t) => {
      const { issuer, state } = await startProvider(t)
      state.discovery = discovery
      await assert.rejects(fetchKeys(toPlace(issuer)), reason)
    })
})
