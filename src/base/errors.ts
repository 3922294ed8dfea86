/**
 * Every failure that Cardea can respond with, by code. The text here is the meaning; each dialect has a table with its
 * own status and text for every code, and does not compile while one is missing.
 */
export const ERRORS = {
  // HTTP
  malformed_request: 'The request is not valid HTTP.',
  ambiguous_header: 'A header that is allowed once is present more than once.',
  invalid_host: 'The Host header is missing or not a host.',
  invalid_target: 'The request target is not a path, or is ambiguous.',
  invalid_url_encoding: 'The target has an invalid percent-encoding, or does not decode to UTF-8.',
  uri_too_long: 'The request target is too long.',
  headers_too_large: 'The request headers are too large or too many.',
  body_too_large: 'The request body is too large.',
  request_timeout: 'The request did not arrive in time.',
  expectation_failed: 'The Expect header has an unsupported value.',
  method_not_allowed: 'The method is not allowed here.',
  method_override: 'Headers that override the method are not accepted. Send the method itself.',
  client_gone: 'The client disconnected before the response was sent.',
  too_many_connections: 'Too many connections are open.',
  shutting_down: 'The server is shutting down.',
  // the resource and the body
  not_found: 'Not found.',
  database_not_found: 'The database does not exist.',
  node_not_found: 'The node does not exist.',
  option_not_found: 'The option is not set.',
  option_unknown: 'The option does not exist.',
  option_refused: 'The option cannot have this value.',
  section_protected: 'This section of the configuration cannot be changed over HTTP.',
  bad_request: 'The request is invalid.',
  invalid_json: 'The body is not JSON in UTF-8.',
  missing_body: 'The request needs a body.',
  unsupported_media_type: 'The content type is not accepted here.',
  unsupported_encoding: 'The content encoding is not accepted here.',
  conflict: 'The record was changed by another request in the meantime.',
  // the document door
  database_exists: 'A database with that name already exists.',
  deleted: 'The document was deleted.',
  query_invalid: 'A query parameter is invalid.',
  document_invalid: 'The document has a member that is not allowed.',
  document_id_invalid: 'The document id is invalid.',
  document_too_large: 'The document is too large.',
  // the multi-model door
  bad_parameter: 'A parameter of the request is missing or wrong.',
  user_not_found: 'The user does not exist.',
  user_exists: 'A user with that name already exists.',
  user_name_refused: 'The user name is not allowed.',
  name_taken: 'The name is already taken.',
  system_database_only: 'This request is answered in the system database only.',
  secret_unreadable: 'The secret files cannot be read.',
  // authentication and permission
  authentication_required: 'This needs a credential.',
  login_required: 'This needs a signed-in user.',
  credential_refused: 'Name or password is incorrect.',
  code_required: 'The password is right, and the one-time code is missing.',
  certificate_refused: 'The client certificate is not accepted.',
  credential_malformed: 'The credential cannot be decoded.',
  claim_missing: 'The token lacks a claim it must have.',
  token_refused: 'The token is not accepted.',
  sign_in_refused: 'The credentials are not valid.',
  users_unsupported: 'This server does not support users.',
  not_owner: 'This belongs to another user.',
  admin_required: 'This needs an administrator.',
  user_required: 'This needs a signed-in user.',
  metrics_required: 'This needs an administrator, or the role to read metrics.',
  forbidden: 'This is not allowed.',
  password_required: 'This needs a credential that was obtained with the password.',
  second_factor_required: 'This needs a session that was opened with the second factor.',
  password_change_required: 'The password must be changed first.',
  second_factor_setup_required: 'A second factor must be set up first.',
  page_token_required: 'The page is out of date: load it again. Requests with its session need the token of the page.',
  cross_origin: 'A page of another origin may not send this request.',
  iterations_too_low: 'The stored password has fewer iterations than this server accepts.',
  iterations_too_high: 'The stored password has more iterations than this server accepts.',
  password_refused: 'The password does not conform to requirements.',
  account_locked: 'The account is locked for a time after too many failed sign-ins.',
  too_many_requests: 'Too many failed password checks; try again later.',
  too_many_sign_ups: 'Too many new users; try again later.',
  // Cardea or the upstream cannot serve the request now
  provider_unavailable: 'The identity provider cannot be reached, so its token cannot be checked now.',
  overloaded: 'Too much work is waiting.',
  store_unavailable: 'The store cannot be reached.',
  record_damaged: 'The stored record of this user is damaged. An administrator must restore a backup.',
  audit_unavailable:
    'The audit trail cannot be written, and this server accepts no changes and no new sign-ins without it.',
  not_serving: 'User data is stale; the store has been unreachable for too long.',
  spool_full: 'Too many request bodies are being buffered.',
  upstream_failed: 'Invalid response from the upstream server.',
  upstream_unavailable: 'The upstream server cannot be used now.',
  upstream_rejects_identity: 'The upstream server rejects the identity that this server signs.',
  upstream_timeout: 'The upstream server did not respond in time.',
  body_consumed:
    'Another part of this program has read the request body already. Call cardea.handle before express.json() and other body parsers.',
  internal: 'Internal error.',
} as const satisfies Record<string, string>

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
    super(ERRORS[code], details.cause === undefined ? undefined : { cause: details.cause })
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
