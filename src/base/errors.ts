/**
 * Every failure Cardea can answer with, by code. A row gives the meaning; each dialect spells every row in its own
 * words, and does not compile while one is missing. Codes are never renamed or reused.
 */
export const ERRORS = {
  // HTTP itself
  malformed_request: 'The request is not valid HTTP.',
  ambiguous_header: 'A header that may stand once stands more than once.',
  invalid_host: 'The Host header is missing or not a host.',
  invalid_target: 'The request target is not a path, or not one that can mean one thing only.',
  invalid_url_encoding: 'A % in the target is not followed by two hexadecimal digits, or what it spells is not text.',
  uri_too_long: 'The request target is too long.',
  headers_too_large: 'The request headers are too large, or too many.',
  body_too_large: 'The request body is too large.',
  request_timeout: 'The request did not arrive in time.',
  expectation_failed: 'The Expect header asks for something unknown.',
  method_not_allowed: 'The method is not allowed here.',
  method_override: 'Headers that override the method are not accepted. Send the method itself.',
  client_gone: 'The client went away before it was answered.',
  too_many_connections: 'Too many connections are open.',
  stopping: 'The server is shutting down.',
  // what was asked for
  not_found: 'There is nothing here.',
  database_not_found: 'There is no such database.',
  node_not_found: 'There is no such node.',
  option_not_found: 'Nothing is set by that name.',
  option_unknown: 'There is no such option.',
  option_refused: 'The option cannot have this value.',
  section_protected: 'This section of the configuration cannot be changed over HTTP.',
  bad_request: 'The request cannot be understood.',
  invalid_json: 'The body is not JSON in UTF-8.',
  missing_body: 'The request needs a body.',
  unsupported_media_type: 'The content type is not accepted here.',
  unsupported_encoding: 'The content encoding is not accepted here.',
  conflict: 'Somebody else changed this meanwhile.',
  // what was asked for of the document door
  database_exists: 'There is a database of that name already.',
  deleted: 'This was deleted.',
  query_invalid: 'A parameter of the query cannot be understood.',
  document_invalid: 'The document has a member it cannot have.',
  document_id_invalid: 'This cannot be the id of a document.',
  document_too_large: 'The document is too large.',
  // what was asked for of the multi-model door
  bad_parameter: 'A parameter of the request is missing or wrong.',
  user_not_found: 'There is no such user.',
  user_exists: 'There is a user of that name already.',
  user_name_refused: 'This cannot be the name of a user.',
  name_taken: 'Something of that name is there already.',
  system_database_only: 'This can be asked of the system database only.',
  secret_unreadable: 'The files with the secrets cannot be read.',
  // who is asking
  authentication_required: 'This needs a credential.',
  login_required: 'Nobody is signed in.',
  credential_refused: 'Name or password is incorrect.',
  credential_malformed: 'The credential cannot be decoded.',
  claim_missing: 'The token lacks a claim it must have.',
  token_refused: 'The token is not accepted, or no longer.',
  sign_in_refused: "These credentials are nobody's.",
  no_users_here: 'This server knows no users.',
  somebody_elses: 'This belongs to somebody else.',
  admin_required: 'This needs an administrator.',
  user_required: 'This needs somebody who is signed in.',
  metrics_required: 'This needs an administrator, or the role to read metrics.',
  forbidden: 'You may not do this.',
  password_required: 'This needs a credential that has proved the password.',
  page_token_required: 'The page is out of date: load it again. Requests with its session need the token of the page.',
  cross_origin: 'A page of another origin may not send this request.',
  iterations_too_low: 'The stored password has fewer iterations than this server accepts.',
  iterations_too_high: 'The stored password has more iterations than this server accepts.',
  password_refused: 'The password does not conform to requirements.',
  account_locked: 'The account is locked for a while after too many failures.',
  too_many_requests: 'Too many failed password checks; try again later.',
  // what Cardea itself cannot do now
  overloaded: 'Too much work is waiting.',
  store_unavailable: 'The store cannot be reached.',
  not_serving: 'What is known of users is too old to let anybody in.',
  spool_full: 'Too many bodies are being put together.',
  upstream_failed: 'What the server behind this one answered is no answer.',
  upstream_unavailable: 'The server behind this one cannot be reached.',
  upstream_rejects_identity: 'The upstream server rejects the identity that this server signs.',
  upstream_timeout: 'The server behind this one did not answer in time.',
  internal: 'Something went wrong.',
} as const satisfies Record<string, string>

export type ErrorCode = keyof typeof ERRORS

export interface RefusalDetails {
  /** A value the public sentence speaks of (a name, a list of methods). The client sees it: nothing secret. */
  readonly about?: string
  /** For the log only. */
  readonly detail?: string
  /** When it makes sense to try again; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  readonly cause?: unknown
}

/** An expected failure on its way to the client. What it says in public comes from the dialect's table. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly about: string | undefined
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, details: RefusalDetails = {}) {
    super(ERRORS[code], details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.about = details.about
    this.detail = details.detail
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** Failures that say nothing about the credential: with one of these a request must not go on as anonymous. */
const CANNOT_NOW: ReadonlySet<ErrorCode> = new Set([
  'too_many_requests',
  'overloaded',
  'store_unavailable',
  'internal',
  'client_gone',
])

/** Whether something is wrong with what the caller brought. */
export const isClientError = (error: unknown): boolean => error instanceof Refusal && !CANNOT_NOW.has(error.code)
