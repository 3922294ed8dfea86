import { isJsonObject, readJson } from '../base/json.ts'
import type { Config } from '../config/options.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { listSecrets, SecretProblem } from './secret-tools.ts'
import { createToken } from './token-tools.ts'

/** The servers of a rotation. Each step reloads all of them and compares their secrets with the folder. */
export interface Reloader {
  /** Before a step. Throws at the first server that does not have the secrets of the folder: nothing is changed then. */
  verify(): Promise<void>
  /** After a step. Tries every server, then throws if one did not load the folder. */
  run(): Promise<void>
}

const TOKEN_SECONDS = 300
const TIMEOUT_MS = 10_000

/** Signs before the step is taken: with a secret every server knows already. */
export async function createReloader(context: Context, config: Config, urls: readonly string[]): Promise<Reloader> {
  if (urls.length === 0) return { verify: async () => {}, run: async () => {} }
  const places = urls.map(readPlace)
  const token = await createToken(config, {
    user: undefined,
    serverId: 'cardea secret rotate',
    lifetimeSeconds: TOKEN_SECONDS,
    paths: ['/_admin/server/jwt'],
    nowSeconds: Math.floor(Date.now() / 1000),
  })
  return {
    verify: async () => verifyAll(context, places, { token, wanted: await listWanted(config) }),
    run: async () => reloadAll(context, places, { token, wanted: await listWanted(config) }),
  }
}

/** Hashes of the secrets a server has after it has loaded the folder. */
const listWanted = async (config: Config): Promise<readonly string[]> =>
  (await listSecrets(config)).filter(({ use }) => use !== 'unused').map(({ sha256 }) => sha256)

interface ReloadRequest {
  readonly token: string
  readonly wanted: readonly string[]
}

async function verifyAll({ printError }: Context, places: readonly URL[], request: ReloadRequest): Promise<void> {
  for (const place of places) {
    const problem = await tryReload(place, request)
    if (problem !== undefined) throw new SecretProblem(`${problem}\nNothing was changed.`)
    printError(`${place.origin} is ready: it has the secrets of the folder.`)
  }
}

async function reloadAll({ printError }: Context, places: readonly URL[], request: ReloadRequest): Promise<void> {
  const problems: string[] = []
  for (const place of places) {
    const problem = await tryReload(place, request)
    if (problem === undefined) printError(`${place.origin} has loaded them.`)
    else problems.push(problem)
  }
  if (problems.length > 0) throw new SecretProblem(`${problems.join('\n')}\n${AGAIN}`)
}

const AGAIN =
  'The folder was changed. Mend those servers and run this again: it verifies every server before the next step.'

/** What is wrong, if anything. */
async function tryReload(place: URL, { token, wanted }: ReloadRequest): Promise<string | undefined> {
  try {
    await reload(place, token, wanted)
    return undefined
  } catch (error) {
    if (error instanceof SecretProblem) return error.message
    throw error
  }
}

function readPlace(text: string): URL {
  const url = URL.canParse(text) ? new URL('/_admin/server/jwt', text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url
  throw new ExitError(EXIT.usage, '--reload must be http://host:port or https://host:port')
}

async function reload(place: URL, token: string, wanted: readonly string[]): Promise<void> {
  const { status, body } = await post(place, token)
  if (status !== 200) throw new SecretProblem(`${place.origin} did not load the secrets (${status}): ${body}`)
  if (readHashes(body).join() !== wanted.join()) {
    throw new SecretProblem(`${place.origin} has other secrets than this folder: does it read the same one?`)
  }
}

async function post(place: URL, token: string): Promise<{ status: number; body: string }> {
  try {
    const answer = await fetch(place, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: answer.status, body: await answer.text() }
  } catch (error) {
    const why = error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : ''
    throw new SecretProblem(`${place.origin} cannot be reached: ${why}`)
  }
}

/** The hashes in the response, that of the signing secret first. */
function readHashes(body: string): readonly string[] {
  const reading = readJson(body)
  const result = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value['result'] : undefined
  if (!isJsonObject(result)) return []
  const { active, passive } = result
  return [active, ...(Array.isArray(passive) ? passive : [])].map((entry) =>
    isJsonObject(entry) ? String(entry['sha256']) : '',
  )
}
