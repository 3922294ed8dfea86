import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { loadCa } from './http-client.ts'
import type { Server } from './http-control.ts'
import { readSecret } from './passwords.ts'

export interface RemoteOptions {
  readonly url?: string
  readonly as?: string
  readonly credentials?: string
  readonly ca?: string
}

/** The server of `--url` and the credential for it; `undefined` without `--url`. */
export async function readRemote(context: Context, options: RemoteOptions): Promise<Server | undefined> {
  if (options.url === undefined) return undefined
  const url = readUrl(options.url)
  const ca = loadCa(context, options.ca)
  return { kind: 'url', url, ca, authorization: await readAuthorization(context, url, options) }
}

export interface CredentialOptions {
  readonly as?: string
  readonly credentials?: string
  /** Name of the flag for `credentials`. */
  readonly flag?: string
}

/** The credential, from a file or a prompt. */
export async function readAuthorization(context: Context, url: URL, options: CredentialOptions): Promise<string> {
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    context.printError(`warning: ${url.origin} is not encrypted, and the password travels with every request`)
  }
  const pair = options.credentials === undefined ? await askPair(options, url) : readPair(options.credentials, context)
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // the message does not repeat the text, which may contain a password
  if (!url || !/^https?:$/.test(url.protocol)) throw usage('--url must be http://host:port or https://host:port')
  if (url.username !== '' || url.password !== '')
    throw usage('--url holds no name or password: see --as and --credentials')
  if (url.pathname !== '/' || url.search !== '') throw usage('--url ends with the port')
  return url
}

const usage = (message: string): ExitError => new ExitError(EXIT.usage, message)

async function askPair(
  { as: name = 'admin', flag = '--credentials' }: CredentialOptions,
  { host }: URL,
): Promise<string> {
  const what = `Password of the administrator ${name} at ${host}`
  return `${name}:${await readSecret({ what, fromInput: false, flag, isNew: false })}`
}

/** `name:password` on the first line. */
function readPair(path: string, { cwd }: Context): string {
  const [line = ''] = readWhole(resolve(cwd, path)).split(/\r?\n/, 1)
  if (!line.includes(':')) throw new ExitError(EXIT.failed, `${path} does not hold name:password on its first line`)
  return line
}

function readWhole(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ExitError(EXIT.failed, `${path} cannot be read: ${messageOf(error)}`)
  }
}
