import { readFile } from 'node:fs/promises'
import { readServices } from '../config/open-sections.ts'
import type { Settings } from '../config/settings.ts'
import { explainFailure, send } from './remote.ts'

/** The response of an upstream server, or why there is none. */
export interface ProbedUpstream {
  readonly option: string
  readonly url: string
  readonly error?: string
  /** Its clock, from the header `Date`. */
  readonly dateMs?: number
}

const TIMEOUT_MS = 5000

/** Sends one request without a credential to every upstream server and service. Any response counts. */
export async function probeUpstreams({ values: { upstream }, open }: Settings): Promise<readonly ProbedUpstream[]> {
  const file = upstream['ca-file']
  const ca = file === '' ? undefined : await readFile(file).catch(() => null)
  if (ca === null) return [{ option: 'upstream.ca-file', url: file, error: 'the file cannot be read' }]
  const places = [
    ...upstream.document.map((url) => ['upstream.document', url] as const),
    ...upstream['multi-model'].map((url) => ['upstream.multi-model', url] as const),
    ...readServices(open.services).map(({ name, url }) => [`services.${name}`, url] as const),
  ]
  return Promise.all(places.map(async ([option, url]) => ({ option, url, ...(await probe(url, ca)) })))
}

async function probe(url: string, ca: Buffer | undefined): Promise<Pick<ProbedUpstream, 'error' | 'dateMs'>> {
  try {
    const response = await send(new URL(url), { ca, timeoutMs: TIMEOUT_MS })
    response.destroy()
    const dateMs = Date.parse(response.headers.date ?? '')
    return Number.isNaN(dateMs) ? {} : { dateMs }
  } catch (error) {
    return { error: explainFailure(error, 'upstream.ca-file') }
  }
}
