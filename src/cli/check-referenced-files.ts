// Checks the files that settings name, by loading each as a start would.
import type { Problem } from '../config/problems.ts'
import { toRulePlace } from '../config/rules.ts'
import { renderSource, type Settings } from '../config/settings.ts'
import { loadAuditKey, loadWebhookKey } from '../kernel/audit-keys.ts'
import { StartError } from '../kernel/start-error.ts'
import type { RingLoad } from '../keys/secret-files.ts'
import { LISTENERS } from '../live-config/endpoints.ts'
import { checkKeySets, listStrayLimits, readKeys } from '../live-config/key-sets.ts'
import { loadTokenSecrets, loadUpstreamSecrets } from '../live-config/secret-rings.ts'
import { loadServiceKey } from '../live-config/service-key.ts'
import {
  createSharedSecrets,
  keysOf,
  type SharedPair,
  type SharedSecrets,
  USES,
  type Use,
} from '../live-config/shared-secrets.ts'

/** Loads a file as a start does. The first of the options that is set is reported as the place of a problem. */
interface Trial {
  readonly section: string
  readonly keys: readonly string[]
  /** The use of the secret that it loads. */
  readonly use?: Use
  /** Throws a `StartError`, or returns what is wrong. */
  run(settings: Settings, secrets: SharedSecrets): Promise<string | undefined> | string | undefined
}

/** Registers the loaded secrets, so that later ones can be compared with them. */
function take(load: RingLoad | undefined, use: Use, secrets: SharedSecrets): string | undefined {
  if (load?.kind === 'refused') return load.reason
  if (load) secrets.register(use, () => keysOf(load.ring))
  return undefined
}

const SECRET_TRIALS: readonly Trial[] = [
  {
    section: 'server',
    keys: ['jwt-secret-folder', 'jwt-secret-keyfile', 'jwt-secret'],
    use: USES.tokens,
    run: async (settings, secrets) => take(await loadTokenSecrets(settings, secrets), USES.tokens, secrets),
  },
  {
    section: 'upstream',
    keys: ['multi-model-secret-folder', 'multi-model-secret-keyfile'],
    use: USES.upstream,
    run: async (settings, secrets) => take(await loadUpstreamSecrets(settings, secrets), USES.upstream, secrets),
  },
  {
    section: 'upstream',
    keys: ['service-keyfile'],
    use: USES.services,
    run: (settings, secrets) => {
      const { verifying } = loadServiceKey(settings, secrets)
      secrets.register(USES.services, () => [verifying])
      return undefined
    },
  },
]

const TRIALS: readonly Trial[] = [
  ...SECRET_TRIALS,
  { section: 'audit', keys: ['key-file'], run: ({ values }) => void loadAuditKey(values.audit['key-file']) },
  {
    section: 'audit',
    keys: ['webhook-key-file', 'destinations'],
    run: ({ values }) => void loadWebhookKey(values.audit.destinations, values.audit['webhook-key-file']),
  },
  { section: 'ssl', keys: ['cert_file', 'key_file'], run: ({ values }) => void LISTENERS.document.toEndpoints(values) },
  {
    section: 'ssl',
    keys: ['keyfile'],
    run: ({ values }) => {
      for (const name of ['multi-model', 'admin', 'metrics'] as const) LISTENERS[name].toEndpoints(values)
      return undefined
    },
  },
]

/** Every problem of secrets, keys and their limits, key sets and certificates. */
export const checkReferencedFiles = async (settings: Settings): Promise<readonly Problem[]> => [
  ...(await checkStartFiles(settings)),
  ...checkKeySets(settings.open),
  ...listStrayLimits(settings.open, readKeys(settings.open)).filter(({ isFatal }) => isFatal),
]

/** The problems that prevent a start. A key set that cannot be read is only logged: the server starts without it. */
export async function checkStartFiles(settings: Settings): Promise<readonly Problem[]> {
  const secrets = createSharedSecrets()
  // equal secrets are found when all are loaded
  const gathering: SharedSecrets = { ...secrets, check: () => undefined }
  const tried: Problem[] = []
  for (const trial of TRIALS) tried.push(...(await attempt(trial, settings, gathering)))
  return [...tried, ...secrets.list(settings).map((pair) => toConflict(pair, settings))]
}

const toConflict = ({ names, message }: SharedPair, settings: Settings): Problem => ({
  kind: 'conflict',
  place: [...new Set(names.flatMap((name) => placesOfSecret(name, settings)))].join(', '),
  message,
})

function placesOfSecret(name: string, settings: Settings): readonly string[] {
  const trial = SECRET_TRIALS.find(({ use }) => use === name)
  if (trial) return [placeOf(trial, settings)]
  const [section, key] = toRulePlace(name)
  if (section !== 'jwt_keys') return [placeOf({ section, keys: [key] }, settings)]
  // a key without a line of its own is in one of the key sets
  const line = settings.open.jwt_keys.find((entry) => entry.key === key)
  const lines = line ? [line] : settings.open.jwt_keys.filter(({ key }) => key.startsWith('jwks:'))
  return lines.map(({ source }) => renderSource(source))
}

/** Registers the secrets in readable files, for commands that change settings while no server runs. */
export async function registerNamedSecrets(settings: Settings, secrets: SharedSecrets): Promise<void> {
  for (const trial of SECRET_TRIALS) await attempt(trial, settings, secrets)
}

async function attempt(trial: Trial, settings: Settings, secrets: SharedSecrets): Promise<readonly Problem[]> {
  const reason = await findReason(() => trial.run(settings, secrets))
  return reason === undefined ? [] : [{ kind: 'bad-file', place: placeOf(trial, settings), message: reason }]
}

async function findReason(run: () => ReturnType<Trial['run']>): Promise<string | undefined> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof StartError) return error.message
    throw error
  }
}

function placeOf({ section, keys }: Pick<Trial, 'section' | 'keys'>, settings: Settings): string {
  const found = keys.map((key) => settings.find(section, key)?.source).find((source) => source?.kind !== 'default')
  return found ? renderSource(found) : `${section}.${keys[0]}`
}
