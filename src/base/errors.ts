/**
 * Every failure that Cardea can respond with, by code. Its status and text are those of Cardea's own paths; each
 * door has a table with the status and text of its database for every code, and does not compile while one is missing.
 */
export const ERRORS = {
  // HTTP
  malformed_request: { status: 400, text: 'The request is not valid HTTP.' },
  ambiguous_header: { status: 400, text: 'A header that is allowed once is present more than once.' },
  invalid_host: { status: 400, text: 'The Host header is missing or not a host.' },
  invalid_target: { status: 400, text: 'The request target is not a path, or is ambiguous.' },
  invalid_url_encoding: {
    status: 400,
    text: 'The target has an invalid percent-encoding, or does not decode to UTF-8.',
  },
  uri_too_long: { status: 414, text: 'The request target is too long.' },
  headers_too_large: { status: 431, text: 'The request headers are too large or too many.' },
  body_too_large: { status: 413, text: 'The request body is too large.' },
  request_timeout: { status: 408, text: 'The request did not arrive in time.' },
  expectation_failed: { status: 417, text: 'The Expect header has an unsupported value.' },
  method_not_allowed: { status: 405, text: 'The method is not allowed here.' },
  method_override: { status: 400, text: 'Headers that override the method are not accepted. Send the method itself.' },
  client_gone: { status: 400, text: 'The client disconnected before the response was sent.' },
  too_many_connections: { status: 503, text: 'Too many connections are open.' },
  shutting_down: { status: 503, text: 'The server is shutting down.' },
  // the resource and the body
  not_found: { status: 404, text: 'Not found.' },
  database_not_found: { status: 404, text: 'The database does not exist.' },
  node_not_found: { status: 404, text: 'The node does not exist.' },
  option_not_found: { status: 404, text: 'The option is not set.' },
  option_unknown: { status: 400, text: 'The option does not exist.' },
  option_refused: { status: 400, text: 'The option cannot have this value.' },
  section_protected: { status: 403, text: 'This section of the configuration cannot be changed over HTTP.' },
  bad_request: { status: 400, text: 'The request is invalid.' },
  invalid_json: { status: 400, text: 'The body is not JSON in UTF-8.' },
  missing_body: { status: 400, text: 'The request needs a body.' },
  unsupported_media_type: { status: 415, text: 'The content type is not accepted here.' },
  unsupported_encoding: { status: 415, text: 'The content encoding is not accepted here.' },
  conflict: { status: 409, text: 'The record was changed by another request in the meantime.' },
  // the document door
  database_exists: { status: 409, text: 'A database with that name already exists.' },
  deleted: { status: 404, text: 'The document was deleted.' },
  query_invalid: { status: 400, text: 'A query parameter is invalid.' },
  document_invalid: { status: 400, text: 'The document has a member that is not allowed.' },
  document_id_invalid: { status: 400, text: 'The document id is invalid.' },
  document_too_large: { status: 413, text: 'The document is too large.' },
  // the multi-model door
  bad_parameter: { status: 400, text: 'A parameter of the request is missing or wrong.' },
  user_not_found: { status: 404, text: 'The user does not exist.' },
  user_exists: { status: 409, text: 'A user with that name already exists.' },
  user_name_refused: { status: 400, text: 'The user name is not allowed.' },
  name_taken: { status: 409, text: 'The name is already taken.' },
  system_database_only: { status: 403, text: 'This request is answered in the system database only.' },
  secret_unreadable: { status: 400, text: 'The secret files cannot be read.' },
  // authentication and permission
  authentication_required: { status: 401, text: 'This needs a credential.' },
  login_required: { status: 401, text: 'This needs a signed-in user.' },
  credential_refused: { status: 401, text: 'Name or password is incorrect.' },
  code_required: { status: 401, text: 'The password is right, and the one-time code is missing.' },
  certificate_refused: { status: 401, text: 'The client certificate is not accepted.' },
  credential_malformed: { status: 401, text: 'The credential cannot be decoded.' },
  claim_missing: { status: 401, text: 'The token lacks a claim it must have.' },
  token_refused: { status: 401, text: 'The token is not accepted.' },
  sign_in_refused: { status: 401, text: 'The credentials are not valid.' },
  users_unsupported: { status: 401, text: 'This server does not support users.' },
  not_owner: { status: 403, text: 'This belongs to another user.' },
  admin_required: { status: 403, text: 'This needs an administrator.' },
  user_required: { status: 403, text: 'This needs a signed-in user.' },
  metrics_required: { status: 403, text: 'This needs an administrator, or the role to read metrics.' },
  forbidden: { status: 403, text: 'This is not allowed.' },
  password_required: { status: 403, text: 'This needs a credential that was obtained with the password.' },
  second_factor_required: { status: 403, text: 'This needs a session that was opened with the second factor.' },
  password_change_required: { status: 403, text: 'The password must be changed first.' },
  second_factor_setup_required: { status: 403, text: 'A second factor must be set up first.' },
  page_token_required: {
    status: 403,
    text: 'The page is out of date: load it again. Requests with its session need the token of the page.',
  },
  cross_origin: { status: 403, text: 'A page of another origin may not send this request.' },
  iterations_too_low: { status: 401, text: 'The stored password has fewer iterations than this server accepts.' },
  iterations_too_high: { status: 401, text: 'The stored password has more iterations than this server accepts.' },
  password_refused: { status: 400, text: 'The password does not conform to requirements.' },
  password_check_failed: {
    status: 503,
    text: 'New passwords cannot be checked now: auth.password-file cannot be searched.',
  },
  account_locked: { status: 403, text: 'The account is locked for a time after too many failed sign-ins.' },
  too_many_requests: { status: 429, text: 'Too many failed password checks; try again later.' },
  too_many_sign_ups: { status: 429, text: 'Too many new users; try again later.' },
  // Cardea or the upstream cannot serve the request now
  provider_unavailable: {
    status: 503,
    text: 'The identity provider cannot be reached, so its token cannot be checked now.',
  },
  overloaded: { status: 503, text: 'Too much work is waiting.' },
  store_unavailable: { status: 503, text: 'The store cannot be used now.' },
  record_damaged: {
    status: 503,
    text: 'The stored record of this user is damaged. An administrator must restore a backup.',
  },
  audit_unavailable: {
    status: 503,
    text: 'The audit trail cannot be written, and this server accepts no changes and no new sign-ins without it.',
  },
  not_serving: { status: 503, text: 'User data is stale; the store has been unreachable for too long.' },
  spool_full: { status: 503, text: 'Too many request bodies are being buffered.' },
  upstream_failed: { status: 502, text: 'Invalid response from the upstream server.' },
  upstream_unavailable: { status: 503, text: 'The upstream server cannot be used now.' },
  upstream_rejects_identity: { status: 502, text: 'The upstream server rejects the identity that this server signs.' },
  upstream_timeout: { status: 504, text: 'The upstream server did not respond in time.' },
  body_consumed: {
    status: 500,
    text: 'Another part of this program has read the request body already. Call cardea.handle before express.json() and other body parsers.',
  },
  internal: { status: 500, text: 'Internal error.' },
} as const satisfies Record<string, { readonly status: number; readonly text: string }>

export type ErrorCode = keyof typeof ERRORS

export interface RefusalDetails {
  /** What the client reads in place of the text of the table. Never secret. */
  readonly reason?: string | undefined
  /** A value for the text of the table: a header name, a media type, the allowed methods. Never secret. */
  readonly value?: string | undefined
  /** For the log only. */
  readonly detail?: string | undefined
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined
  /** Added to the reply. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly cause?: unknown
}

/** An expected failure. The text that the client sees comes from the table of the dialect. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly reason: string | undefined
  readonly value: string | undefined
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly headers: NonNullable<RefusalDetails['headers']>

  constructor(code: ErrorCode, details: RefusalDetails = {}) {
    super(ERRORS[code].text, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.reason = details.reason
    this.value = details.value
    this.detail = details.detail
    this.retryAfterSeconds = details.retryAfterSeconds
    this.headers = details.headers ?? []
  }
}

/** Failures that are not about the credential: after one of these a request must not continue as anonymous. */
const NOT_ABOUT_CREDENTIAL: ReadonlySet<ErrorCode> = new Set([
  'too_many_requests',
  'overloaded',
  'store_unavailable',
  'provider_unavailable',
  'record_damaged',
  'audit_unavailable',
  'password_check_failed',
  'body_consumed',
  'internal',
  'client_gone',
])

export const badRequest = (reason: string): Refusal => new Refusal('bad_request', { reason })

/** What a table of errors makes its text of. */
export const refusalText = ({ reason, value, message }: Refusal): string => reason ?? value ?? message

/** Whether the client caused the failure, for example with a wrong credential. */
export const isClientError = (error: unknown): boolean =>
  error instanceof Refusal && !NOT_ABOUT_CREDENTIAL.has(error.code)

/** The code of an error of the system or a library; empty: it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Node's advice in errors about certificates names flags of its own, which an operator of Cardea cannot set. */
const NODE_ADVICE = /; if the root CA is installed locally, try running Node\.js with .*$/s

/** The message of anything that was thrown, without Node's advice. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(NODE_ADVICE, '')

/** `undefined` if the action throws, whatever it throws. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
