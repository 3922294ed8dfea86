// HTTP for commands.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { type Context, EXIT, ExitError } from './context.ts'

export interface Request extends Pick<RequestOptions, 'method' | 'path' | 'socketPath'> {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** PEM of the certificate authorities to trust instead of the public ones. */
  readonly ca?: Buffer | undefined
  readonly timeoutMs: number
}

/** Rejects with the failure of the connection, or if the server does not answer in time. Redirects are not followed. */
export function send(url: URL, { body, timeoutMs, ...options }: Request): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const late = new Error(`it did not answer within ${timeoutMs / 1000} seconds`)
    request(url, { ...options, signal, agent: false }, resolve)
      .on('error', (error) => reject(signal.aborted ? late : error))
      .end(body)
  })
}

/** Throws an error if the body is larger than the limit. */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error('the response is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Codes of a certificate that no trusted authority has signed. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Why a request failed. `option` names the file of trusted certificate authorities. */
export function explainFailure(error: unknown, option = '--ca FILE'): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (!UNTRUSTED.has(code)) return messageOf(error)
  return `no trusted authority signed its certificate. If that is expected, name the certificate of the authority: ${option}`
}

/** The certificates of a file that an option names. */
export function loadCa({ cwd }: Context, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined
  try {
    const pem = readFileSync(resolve(cwd, file))
    // throws if there is none; connections would fail without naming the file
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw new ExitError(EXIT.failed, `${file} holds no certificate that can be used: ${messageOf(error)}`)
  }
}
