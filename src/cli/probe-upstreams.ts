import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { readServices } from '../config/open-sections.ts'
import type { Settings } from '../config/settings.ts'

/** The response of an upstream server, or why there is none. */
export interface Probe {
  readonly option: string
  readonly url: string
  readonly error?: string
  /** Its clock, from the header `Date`. */
  readonly dateMs?: number
}

const TIMEOUT_MS = 5000

/** Sends one request without a credential to every upstream server and service. Any response counts. */
export async function probeUpstreams({ values: { upstream }, open }: Settings): Promise<readonly Probe[]> {
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

function probe(url: string, ca: Buffer | undefined): Promise<Pick<Probe, 'error' | 'dateMs'>> {
  return new Promise((resolve) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    const options = { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS), ...(ca && { ca }) }
    const request = send(url, options, ({ headers }) => {
      const dateMs = Date.parse(headers.date ?? '')
      resolve(Number.isNaN(dateMs) ? {} : { dateMs })
      request.destroy()
    })
    request.on('error', (error) =>
      resolve({ error: error.name === 'TimeoutError' ? 'no response within five seconds' : error.message }),
    )
    request.end()
  })
}
