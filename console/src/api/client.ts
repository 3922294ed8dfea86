// Requests to the admin API. The page token shows that a request comes from this page and not from another of its origin.
import { shared } from '../texts.ts'
import { watchWaiting } from './waiting.ts'

// What it returns: the types of its schemas. `…At` is in seconds since the epoch.
export type * from '../../../src/dialects/admin-api/schemas/account.ts'
export type * from '../../../src/dialects/admin-api/schemas/databases.ts'
export type * from '../../../src/dialects/admin-api/schemas/settings.ts'
export type * from '../../../src/dialects/admin-api/schemas/system.ts'
export type * from '../../../src/dialects/admin-api/schemas/users.ts'

const API = '/_cardea/api'

const readMeta = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="cardea-${name}"]`)?.content ?? ''

/** Empty on a page that was delivered without a session. */
let pageToken = readMeta('page-token')
export const hasPageToken = (): boolean => pageToken !== ''
export const setPageToken = (token: string): void => {
  pageToken = token
}

/** Whether a browser may sign in at this address. */
export const isSignInOpen = readMeta('sign-in') !== 'closed'

/** The name of this installation; empty: it has none. */
export const instanceName = decodeURIComponent(readMeta('name'))

export type Query = Readonly<Record<string, string | number | undefined>>

export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, reason: string) {
    super(reason)
    this.status = status
    this.code = code
  }
}

export const toMessage = (error: unknown): string => (error instanceof Error ? error.message : shared.errors.unknown)

const hasCode = (error: unknown, code: string): boolean => error instanceof ApiError && error.code === code

/** The password is right, and a one-time code is missing. */
export const isCodeMissing = (error: unknown): boolean => hasCode(error, 'code_missing')
export const isRefused = (error: unknown): boolean => hasCode(error, 'credential_refused')
/** Someone else has changed it in the meantime. */
export const isConflict = (error: unknown): boolean => hasCode(error, 'conflict')
export const isNotFound = (error: unknown): boolean => hasCode(error, 'not_found')
export const isStoreDown = (error: unknown): boolean => hasCode(error, 'store_unavailable')
export const isUnreachable = (error: unknown): boolean => hasCode(error, 'unreachable')

/** Joins path segments that may contain any character. */
export const toPath = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${DOTS.test(segment) ? '=' : ''}${encodeURIComponent(segment)}`).join('')

/** Browsers remove these segments, even if they are encoded. The API reads them after a sign. */
const DOTS = /^\.\.?$/

function toUrl(path: string, query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') params.set(name, String(value))
  const text = params.toString()
  return `${API}${path}${text && `?${text}`}`
}

interface Request {
  readonly method?: string
  readonly query?: Query
  readonly body?: object | undefined
  readonly signal?: AbortSignal | undefined
}

/** Responses that were asked for before anything is rendered, by their address. */
const early = new Map<string, Promise<Response | undefined>>()

const EARLY_MS = 5000

/** Asks for what the page will ask for first. If it fails, the page asks again. */
export function askEarly(path: string, query: Query): void {
  if (!hasPageToken()) return
  const url = toUrl(path, query)
  const asked = sendOnce(path, { query }).catch(() => undefined)
  early.set(url, asked)
  setTimeout(() => early.delete(url), EARLY_MS)
}

/** If the session has ended, the user signs in again over the page, and the request is repeated. */
export async function sendRequest(path: string, request: Request = {}): Promise<Response> {
  const sentToken = pageToken
  try {
    return await sendOnce(path, request)
  } catch (error) {
    if (!isSessionEnd(error)) throw error
    if (pageToken === sentToken) await signInAgain()
    return sendOnce(path, request)
  }
}

const isSessionEnd = (error: unknown): boolean =>
  hasCode(error, 'authentication_required') || hasCode(error, 'page_token_required')

/** Resolves when the user has signed in again. */
let signInAgain = (): Promise<void> => new Promise(() => {})
export const onSessionEnd = (ask: () => Promise<void>): void => {
  signInAgain = ask
}

/** Sent with a change that needs the password again. */
export interface Proof {
  readonly current_password?: string
  /** Signs a request, which is named by its method and path, in place of the password. */
  readonly current_passkey?: (request: string) => Promise<object>
}

const withSigned = async (body: Proof & object, method: string, path: string): Promise<object> =>
  body.current_passkey
    ? { ...body, current_passkey: await body.current_passkey(`${method} ${decodeURIComponent(path)}`) }
    : body

async function sendOnce(path: string, { method = 'GET', query = {}, body, signal }: Request): Promise<Response> {
  const headers = {
    'X-Cardea-Control': '1',
    ...(pageToken && { 'X-Cardea-Page-Token': pageToken }),
    ...(body && { 'Content-Type': 'application/json' }),
  }
  const sentBody = body && JSON.stringify(await withSigned(body, method, path))
  const rest = { ...(sentBody && { body: sentBody }), ...(signal && { signal }) }
  const sent = fetch(toUrl(path, query), { method, headers, ...rest }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'unreachable', shared.errors.unreachable)
  })
  const response = await watchWaiting(sent)
  if (!response.ok) throw await readError(response)
  return response
}

async function readError(response: Response): Promise<ApiError> {
  const { error, reason } = await response.json().catch(() => ({}))
  const isCodeMissing = response.headers.get('X-Cardea-Second-Factor') === 'required'
  const code = isCodeMissing ? 'code_missing' : (error ?? 'unknown')
  return new ApiError(response.status, code, reason ?? shared.errors.status(response.status))
}

async function ask<T>(path: string, request: Request): Promise<T> {
  const response = await sendRequest(path, request)
  return (await response.json()) as T
}

export const api = {
  get: async <T>(path: string, query: Query = {}, signal?: AbortSignal) => {
    const url = toUrl(path, query)
    const asked = early.get(url)
    early.delete(url)
    const response = (await asked) ?? (await sendRequest(path, { query, signal }))
    return (await response.json()) as T
  },
  post: <T>(path: string, body?: object, signal?: AbortSignal) => ask<T>(path, { method: 'POST', body, signal }),
  put: <T>(path: string, body: object) => ask<T>(path, { method: 'PUT', body }),
  delete: <T>(path: string, body?: object) => ask<T>(path, { method: 'DELETE', body }),
}
