import { isJsonObject, readJsonObject } from '../base/json.ts'
import type { Config } from '../config/options.ts'
import { SecretProblem } from '../keys/new-secret.ts'
import { type Context, usageError } from './context.ts'
import { explainFailure, loadCa, readResponseBody, send } from './remote.ts'
import { createToken, listSecrets } from './token-tools.ts'

const TOKEN_SECONDS = 300
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024

export interface ReloadOptions {
  readonly reload?: readonly string[]
  readonly ca?: string
}

/**
 * Reloads all servers of a rotation, and throws if one of them has other secrets than the folder. Signs before the step
 * is taken: with a secret every server knows already.
 */
export async function createReloader(
  context: Context,
  config: Config,
  { reload: urls = [], ca }: ReloadOptions,
): Promise<(wording: Wording) => Promise<void>> {
  if (urls.length === 0) return async () => {}
  const places = urls.map(readPlace)
  const token = await createToken(config, {
    user: undefined,
    serverId: 'cardea secret rotate',
    lifetimeSeconds: TOKEN_SECONDS,
    paths: ['/_admin/server/jwt'],
    nowSeconds: Math.floor(Date.now() / 1000),
  })
  const headers = { authorization: `Bearer ${token}` }
  const request = { method: 'POST', headers, ca: loadCa(context, ca), timeoutMs: TIMEOUT_MS }
  return async ({ done, failed }) => {
    // hashes of the secrets a server has after it has loaded the folder
    const wanted = (await listSecrets(config)).filter(({ use }) => use !== 'unused').map(({ sha256 }) => sha256)
    const problems: string[] = []
    for (const place of places) {
      const problem = await reload(place, request, wanted)
      if (problem === undefined) context.printError(`${place.origin} ${done}`)
      else problems.push(problem)
    }
    if (problems.length > 0) throw new SecretProblem([...problems, failed].join('\n'))
  }
}

interface Wording {
  readonly done: string
  readonly failed: string
}

/** Before a step. */
export const BEFORE: Wording = { done: 'is ready: it has the secrets of the folder.', failed: 'Nothing was changed.' }
export const AFTER: Wording = {
  done: 'has loaded them.',
  failed:
    'The folder was changed. Repair those servers and run this again: it verifies every server before the next step.',
}

function readPlace(text: string): URL {
  const url = URL.canParse(text) ? new URL('/_admin/server/jwt', text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url
  throw usageError('--reload must be http://host:port or https://host:port')
}

/** What is wrong, if anything. */
async function reload(
  place: URL,
  request: Parameters<typeof send>[1],
  wanted: readonly string[],
): Promise<string | undefined> {
  const response = await post(place, request).catch((error: unknown) => explainFailure(error))
  if (typeof response === 'string') return `${place.origin} cannot be reached: ${response}`
  const { status, body } = response
  if (status !== 200) return `${place.origin} ${explainRejection(status, body)}`
  const isSame = readHashes(body).join() === wanted.join()
  return isSame ? undefined : `${place.origin} has other secrets than this folder. ${SAME_FILES}`
}

const SAME_FILES = 'Every server must read the same files: mount this folder there, or copy its files there again.'

function explainRejection(status: number, body: string): string {
  // errors of the document door have a text in `error`, those of the multi-model door a boolean
  if (typeof readJsonObject(body)?.['error'] === 'string') return 'is a document door: name the multi-model door.'
  if (status === 401) return `does not know the signing secret (401). Run cardea reload there. ${SAME_FILES}`
  return `did not load the secrets (${status}): ${body}`
}

async function post(place: URL, request: Parameters<typeof send>[1]): Promise<{ status: number; body: string }> {
  const response = await send(place, request)
  return { status: response.statusCode ?? 0, body: (await readResponseBody(response, MAX_BYTES)).toString() }
}

/** The hashes in the response, that of the signing secret first. */
function readHashes(body: string): readonly string[] {
  const result = readJsonObject(body)?.['result']
  if (!isJsonObject(result)) return []
  const { active, passive } = result
  return [active, ...(Array.isArray(passive) ? passive : [])].map((entry) =>
    isJsonObject(entry) ? String(entry['sha256']) : '',
  )
}
