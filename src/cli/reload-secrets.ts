import { isJsonObject, readJson } from '../base/json.ts'
import type { Config } from '../config/options.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { listSecrets, SecretProblem } from './secret-tools.ts'
import { createToken } from './token-tools.ts'

export interface Reloader {
  /** Makes every server reload its secrets, and checks that each has those of the folder. */
  run(context: Context): Promise<void>
}

const TOKEN_SECONDS = 300
const TIMEOUT_MS = 10_000

/** Signs before the step is taken: with a secret every server knows already. */
export async function createReloader(config: Config, urls: readonly string[]): Promise<Reloader> {
  if (urls.length === 0) return { run: async () => {} }
  const places = urls.map(readPlace)
  const token = await createToken(config, {
    user: undefined,
    serverId: 'cardea secret rotate',
    lifetimeSeconds: TOKEN_SECONDS,
    paths: ['/_admin/server/jwt'],
    nowSeconds: Math.floor(Date.now() / 1000),
  })
  return {
    async run(context) {
      const wanted = (await listSecrets(config)).filter(({ use }) => use !== 'unused').map(({ sha256 }) => sha256)
      for (const place of places) {
        await reload(place, token, wanted)
        context.printError(`${place.origin} has loaded them.`)
      }
    },
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
    throw new SecretProblem(`${place.origin} holds other secrets than this folder: does it read the same one?`)
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

/** Those of the answer, the one that signs first. */
function readHashes(body: string): readonly string[] {
  const reading = readJson(body)
  const result = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value['result'] : undefined
  if (!isJsonObject(result)) return []
  const { active, passive } = result
  return [active, ...(Array.isArray(passive) ? passive : [])].map((entry) =>
    isJsonObject(entry) ? String(entry['sha256']) : '',
  )
}
