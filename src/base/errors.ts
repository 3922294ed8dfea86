/**
 * Every failure that Cardea can respond with, by code. Its status and text are those of Cardea's own paths; each
 * door has a table with the status and text of its database for every code, and does not compile while one is missing.
 */
export const ERRORS = {
  // HTTP
  malformed_request: [400, 'The request is not valid HTTP.'],
  ambiguous_header: [400, 'A header that is allowed once is present more than once.'],
  invalid_host: [400, 'The Host header is missing or not a host.'],
  invalid_target: [400, 'The request target is not a path, or is ambiguous.'],
  invalid_url_encoding: [400, 'The target has an invalid percent-encoding, or does not decode to UTF-8.'],
  uri_too_long: [414, 'The request target is too long.'],
  headers_too_large: [431, 'The request headers are too large or too many.'],
  body_too_large: [413, 'The request body is too large.'],
  request_timeout: [408, 'The request did not arrive in time.'],
  expectation_failed: [417, 'The Expect header has an unsupported value.'],
  method_not_allowed: [405, 'The method is not allowed here.'],
  method_override: [400, 'Headers that override the method are not accepted. Send the method itself.'],
  client_gone: [400, 'The client disconnected before the response was sent.'],
  too_many_connections: [503, 'Too many connections are open.'],
  shutting_down: [503, 'The server is shutting down.'],
  // the resource and the body
  not_found: [404, 'Not found.'],
  database_not_found: [404, 'The database does not exist.'],
  node_not_found: [404, 'The node does not exist.'],
  option_not_found: [404, 'The option is not set.'],
  option_unknown: [400, 'The option does not exist.'],
  option_refused: [400, 'The option cannot have this value.'],
  section_protected: [403, 'This section of the configuration cannot be changed over HTTP.'],
  bad_request: [400, 'The request is invalid.'],
  invalid_json: [400, 'The body is not JSON in UTF-8.'],
  missing_body: [400, 'The request needs a body.'],
  unsupported_media_type: [415, 'The content type is not accepted here.'],
  unsupported_encoding: [415, 'The content encoding is not accepted here.'],
  conflict: [409, 'The record was changed by another request in the meantime.'],
  // the document door
  database_exists: [409, 'A database with that name already exists.'],
  deleted: [404, 'The document was deleted.'],
  query_invalid: [400, 'A query parameter is invalid.'],
  document_invalid: [400, 'The document has a member that is not allowed.'],
  document_id_invalid: [400, 'The document id is invalid.'],
  document_too_large: [413, 'The document is too large.'],
  // the multi-model door
  bad_parameter: [400, 'A parameter of the request is missing or wrong.'],
  user_not_found: [404, 'The user does not exist.'],
  user_exists: [409, 'A user with that name already exists.'],
  user_name_refused: [400, 'The user name is not allowed.'],
  name_taken: [409, 'The name is already taken.'],
  system_database_only: [403, 'This request is answered in the system database only.'],
  secret_unreadable: [400, 'The secret files cannot be read.'],
  // authentication and permission
  authentication_required: [401, 'This needs a credential.'],
  login_required: [401, 'This needs a signed-in user.'],
  credential_refused: [401, 'Name or password is incorrect.'],
  code_required: [401, 'The password is right, and the one-time code is missing.'],
  certificate_refused: [401, 'The client certificate is not accepted.'],
  credential_malformed: [401, 'The credential cannot be decoded.'],
  claim_missing: [401, 'The token lacks a claim it must have.'],
  token_refused: [401, 'The token is not accepted.'],
  sign_in_refused: [401, 'The credentials are not valid.'],
  users_unsupported: [401, 'This server does not support users.'],
  not_owner: [403, 'This belongs to another user.'],
  admin_required: [403, 'This needs an administrator.'],
  user_required: [403, 'This needs a signed-in user.'],
  metrics_required: [403, 'This needs an administrator, or the role to read metrics.'],
  forbidden: [403, 'This is not allowed.'],
  password_required: [403, 'This needs a credential that was obtained with the password.'],
  second_factor_required: [403, 'This needs a session that was opened with the second factor.'],
  password_change_required: [403, 'The password must be changed first.'],
  second_factor_setup_required: [403, 'A second factor must be set up first.'],
  page_token_required: [
    403,
    'The page is out of date: load it again. Requests with its session need the token of the page.',
  ],
  cross_origin: [403, 'A page of another origin may not send this request.'],
  iterations_too_low: [401, 'The stored password has fewer iterations than this server accepts.'],
  iterations_too_high: [401, 'The stored password has more iterations than this server accepts.'],
  password_refused: [400, 'The password does not conform to requirements.'],
  account_locked: [403, 'The account is locked for a time after too many failed sign-ins.'],
  too_many_requests: [429, 'Too many failed password checks; try again later.'],
  too_many_sign_ups: [429, 'Too many new users; try again later.'],
  // Cardea or the upstream cannot serve the request now
  provider_unavailable: [503, 'The identity provider cannot be reached, so its token cannot be checked now.'],
  overloaded: [503, 'Too much work is waiting.'],
  store_unavailable: [503, 'The store cannot be reached.'],
  record_damaged: [503, 'The stored record of this user is damaged. An administrator must restore a backup.'],
  audit_unavailable: [
    503,
    'The audit trail cannot be written, and this server accepts no changes and no new sign-ins without it.',
  ],
  not_serving: [503, 'User data is stale; the store has been unreachable for too long.'],
  spool_full: [503, 'Too many request bodies are being buffered.'],
  upstream_failed: [502, 'Invalid response from the upstream server.'],
  upstream_unavailable: [503, 'The upstream server cannot be used now.'],
  upstream_rejects_identity: [502, 'The upstream server rejects the identity that this server signs.'],
  upstream_timeout: [504, 'The upstream server did not respond in time.'],
  body_consumed: [
    500,
    'Another part of this program has read the request body already. Call cardea.handle before express.json() and other body parsers.',
  ],
  internal: [500, 'Internal error.'],
} as const satisfies Record<string, readonly [status: number, text: string]>

export type ErrorCode = keyof typeof ERRORS

export interface RefusalDetails {
  /** What the client reads in place of the text of the table. Never secret. */
  readonly reason?: string
  /** A value for the text of the table: a header name, a media type, the allowed methods. Never secret. */
  readonly value?: string
  /** For the log only. */
  readonly detail?: string
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
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
    super(ERRORS[code][1], details.cause === undefined ? undefined : { cause: details.cause })
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
  'body_consumed',
  'internal',
  'client_gone',
])

export const badRequest = (reason: string): Refusal => new Refusal('bad_request', { reason })

/** What a table of errors makes its text of. */
export const textOf = ({ reason, value, message }: Refusal): string => reason ?? value ?? message

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
