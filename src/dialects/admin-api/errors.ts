import { ERRORS, type ErrorCode, type Refusal } from '../../base/errors.ts'

/** `isExplained`: the refusal's `about` is a whole sentence, more precise than the table. */
type Row = { readonly status: number; readonly isExplained?: true }

const row = (status: number): Row => ({ status })
const explained = (status: number): Row => ({ status, isExplained: true })

/** The status of every error. The body names its code. */
export const ADMIN_API_ERRORS: Readonly<Record<ErrorCode, Row>> = {
  malformed_request: row(400),
  ambiguous_header: row(400),
  invalid_host: row(400),
  invalid_target: row(400),
  invalid_url_encoding: row(400),
  uri_too_long: row(414),
  headers_too_large: row(431),
  body_too_large: row(413),
  request_timeout: row(408),
  expectation_failed: row(417),
  method_not_allowed: row(405),
  method_override: row(400),
  client_gone: row(400),
  too_many_connections: row(503),
  shutting_down: row(503),
  not_found: explained(404),
  database_not_found: row(404),
  node_not_found: row(404),
  option_not_found: row(404),
  option_unknown: explained(400),
  option_refused: explained(400),
  section_protected: row(403),
  bad_request: explained(400),
  invalid_json: row(400),
  missing_body: row(400),
  unsupported_media_type: row(415),
  unsupported_encoding: row(415),
  conflict: explained(409),
  database_exists: row(409),
  deleted: row(404),
  query_invalid: explained(400),
  document_invalid: explained(400),
  document_id_invalid: explained(400),
  document_too_large: row(413),
  bad_parameter: explained(400),
  user_not_found: row(404),
  user_exists: row(409),
  user_name_refused: row(400),
  name_taken: row(409),
  system_database_only: row(403),
  secret_unreadable: explained(400),
  authentication_required: row(401),
  login_required: row(401),
  credential_refused: row(401),
  certificate_refused: row(401),
  credential_malformed: row(401),
  claim_missing: row(401),
  token_refused: row(401),
  sign_in_refused: row(401),
  users_unsupported: row(401),
  not_owner: row(403),
  admin_required: row(403),
  user_required: row(403),
  metrics_required: row(403),
  forbidden: explained(403),
  password_required: explained(403),
  second_factor_required: explained(403),
  password_change_required: row(403),
  page_token_required: row(403),
  cross_origin: row(403),
  iterations_too_low: row(401),
  iterations_too_high: row(401),
  password_refused: explained(400),
  account_locked: row(403),
  too_many_requests: row(429),
  too_many_sign_ups: row(429),
  overloaded: row(503),
  store_unavailable: row(503),
  record_damaged: row(503),
  audit_unavailable: row(503),
  not_serving: row(503),
  spool_full: row(503),
  upstream_failed: row(502),
  upstream_unavailable: row(503),
  upstream_rejects_identity: row(502),
  upstream_timeout: row(504),
  body_consumed: row(500),
  internal: row(500),
}

export interface ErrorBody {
  readonly error: ErrorCode
  readonly reason: string
}

/** The body of an error, the same over HTTP and for a command that has opened the store itself. */
export function toErrorBody({ code, about }: Refusal): ErrorBody {
  const reason = ADMIN_API_ERRORS[code].isExplained ? (about ?? ERRORS[code]) : ERRORS[code]
  return { error: code, reason }
}
