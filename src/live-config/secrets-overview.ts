// The secrets of a running server for the administrator, by their hashes.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { DEFAULT, renderSource } from '../config/settings.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import { listFolder } from '../keys/new-secret.ts'
import type { SecretSource } from '../keys/secret-files.ts'
import type { LiveConfig } from './live-config.ts'
import { nameSource, TOKEN_SECRET, toSecretSource, toUpstreamSource, UPSTREAM_SECRET } from './secret-rings.ts'
import { digestOf, USES } from './shared-secrets.ts'

/** `upstream` signs for ArangoDB; `undefined` where no secret is configured. */
export type LiveSecretsOverview = ReturnType<typeof createSecretsOverview>

export function createSecretsOverview(liveConfig: LiveConfig, tokens: LiveRing, upstream: LiveRing | undefined) {
  const listPlaces = () => toPlaces(liveConfig, tokens, upstream)
  return {
    list: async () => [
      ...(await Promise.all(listPlaces().map(showRing))),
      ...showCouchdb(liveConfig),
      ...(await showAuditKey(liveConfig)),
      await showCookies(liveConfig),
    ],
    reload: () => reloadRings(listPlaces()),
  }
}

const HASH_DIGITS = 12

interface RingPlace {
  readonly option: string
  readonly use: string
  readonly ring: LiveRing
  readonly source: SecretSource
}

function toPlaces(liveConfig: LiveConfig, tokens: LiveRing, upstream: LiveRing | undefined): readonly RingPlace[] {
  const { values } = liveConfig.get().settings
  const own = toSecretSource(values)
  const theirs = toUpstreamSource(values)
  return [
    { name: TOKEN_SECRET, use: 'tokens of the multi-model door', ring: tokens, source: own },
    { name: UPSTREAM_SECRET, use: 'the identity of requests to ArangoDB', ring: upstream, source: theirs },
  ].flatMap(({ name, ring, ...place }) => (ring ? [{ ...place, ring, option: nameSource(name, place.source) }] : []))
}

/** The secret that CouchDB has in its own configuration, if one is set. */
function showCouchdb({ get }: LiveConfig) {
  const { settings, configured } = get()
  const secret = settings.values.upstream['document-secret']
  if (secret === '') return []
  const source = configured.find('upstream', 'document-secret')?.source ?? DEFAULT
  const use = 'the identity of requests to CouchDB'
  const key = { hashPrefix: digestOf(Buffer.from(secret)).slice(0, HASH_DIGITS), isActive: true, algorithm: 'HMAC' }
  return [{ ...FIXED_RING, option: 'upstream.document-secret', use, source: renderSource(source), keys: [key] }]
}

/** The key that signs the audit trail, by the hash of its public half. */
async function showAuditKey({ get, kernel: { audit } }: LiveConfig) {
  const file = get().settings.values.audit['key-file']
  if (audit.keyId === undefined) return []
  const hashPrefix = audit.keyId.slice(0, HASH_DIGITS)
  const age = await ageOf(file).then(
    (ageSeconds) => ({ ageSeconds }),
    () => ({}),
  )
  const key = { hashPrefix, isActive: true, algorithm: 'Ed25519', file, ...age }
  return [{ ...FIXED_RING, option: 'audit.key-file', use: 'checkpoints of the audit trail', source: file, keys: [key] }]
}

/** The state of secrets that a reload of files does not read. */
const FIXED_RING = { reloadable: false, problem: null }

async function showRing({ option, use, ring, source }: RingPlace) {
  const files = await listFiles(source, ring).catch(() => new Map<string, SecretFile>())
  const keys = ring.get().verifying.map(({ key, sha256 }, index) => ({
    hashPrefix: sha256.slice(0, HASH_DIGITS),
    isActive: index === 0,
    algorithm: key.kind === 'hmac' ? 'HS256' : 'ES256',
    ...files.get(sha256),
  }))
  const place = source.folder || source.keyfile
  return {
    option,
    use,
    source: place || (source.secret ? option : 'made at random at the start'),
    reloadable: Boolean(place),
    problem: ring.problem?.reason ?? null,
    keys,
  }
}

interface SecretFile {
  readonly file: string
  readonly ageSeconds: number
}

/** The files of a source by the hash of their secret. */
async function listFiles({ folder, keyfile }: SecretSource, ring: LiveRing): Promise<ReadonlyMap<string, SecretFile>> {
  const files = new Map<string, SecretFile>()
  for (const { name, sha256 } of folder ? await listFolder(folder) : [])
    files.set(sha256, { file: name, ageSeconds: await ageOf(join(folder ?? '', name)) })
  if (keyfile) files.set(ring.get().signing.sha256, { file: keyfile, ageSeconds: await ageOf(keyfile) })
  return files
}

const ageOf = async (path: string): Promise<number> =>
  Math.max(Math.floor((SYSTEM_CLOCK.nowMs() - (await stat(path)).mtimeMs) / 1000), 0)

const COOKIE_SECRET = 'chttpd_auth.secret'

/** The current cookie secret, and earlier ones that are still accepted. */
async function showCookies({ get, secrets, kernel: { store, clock } }: LiveConfig) {
  const source = get().configured.find('chttpd_auth', 'secret')?.source ?? DEFAULT
  const { settings } = await store.listSettings()
  const stored = settings.find(({ section, key }) => `${section}.${key}` === COOKIE_SECRET)
  const age = source.kind === 'run time' && stored ? { ageSeconds: nowSeconds(clock) - stored.changedAt } : {}
  return {
    ...FIXED_RING,
    option: COOKIE_SECRET,
    use: 'session cookies, and proxy tokens of the document door',
    source: renderSource(source),
    keys: secrets.find(USES.cookies).map((key, index) => ({
      hashPrefix: digestOf(key).slice(0, HASH_DIGITS),
      isActive: index === 0,
      algorithm: 'HMAC',
      ...(index === 0 && age),
    })),
  }
}

async function reloadRings(places: readonly RingPlace[]) {
  const reloads = places
    .filter(({ source }) => source.folder || source.keyfile)
    .map(async ({ option, ring }) => {
      const load = await ring.reload()
      return { option, problem: load.kind === 'refused' ? load.reason : null }
    })
  return Promise.all(reloads)
}
