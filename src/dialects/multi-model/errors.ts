import { ERRORS, type ErrorCode, type Refusal, refusalText } from '../../base/errors.ts'

type ErrorRow = {
  readonly code: number
  readonly errorNum: number
  readonly errorMessage: string | ((text: string) => string)
}

const row = (code: number, errorNum: number, errorMessage: ErrorRow['errorMessage']): ErrorRow => ({
  code,
  errorNum,
  errorMessage,
})

/** Every error with ArangoDB's status, error number and message. */
export const MULTI_MODEL_ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = {
  malformed_request: row(400, 400, 'the request is not valid HTTP'),
  ambiguous_header: row(400, 400, (name) => `the header ${name} may be sent only once`),
  invalid_host: row(400, 400, 'the Host header is missing or invalid'),
  invalid_target: row(400, 400, 'the request target is ambiguous'),
  invalid_url_encoding: row(400, 400, 'the request path has an invalid percent-encoding'),
  uri_too_long: row(414, 414, 'the request path is too long'),
  headers_too_large: row(431, 431, 'the request headers are too large or too many'),
  body_too_large: row(413, 413, 'the request body is too large'),
  request_timeout: row(408, 408, 'the request did not arrive in time'),
  expectation_failed: row(417, 417, 'only the expectation 100-continue is supported'),
  method_not_allowed: row(405, 405, 'method not supported'),
  method_override: row(400, 400, 'headers that override the method are not accepted'),
  client_gone: row(400, 400, 'the client disconnected'),
  too_many_connections: row(503, 503, 'too many connections are open'),
  shutting_down: row(503, 30, 'shutdown in progress'),
  not_found: row(404, 404, (what) => what),
  database_not_found: row(404, 1228, 'database not found'),
  node_not_found: row(404, 404, (name) => `unknown server '${name}'`),
  option_not_found: row(404, 404, 'unknown option'),
  option_unknown: row(400, 10, (why) => why),
  option_refused: row(400, 10, (why) => why),
  section_protected: row(403, 11, 'forbidden'),
  bad_request: row(400, 10, (why) => why),
  invalid_json: row(400, 600, (why) => (why === ERRORS.invalid_json.text ? 'invalid JSON object' : why)),
  missing_body: row(400, 400, 'invalid JSON'),
  unsupported_media_type: row(415, 10, (wanted) => `the content type must be ${wanted}`),
  unsupported_encoding: row(415, 10, (coding) => `the content encoding ${coding} is not supported`),
  conflict: row(409, 1200, 'conflict'),
  database_exists: row(409, 1207, 'duplicate name'),
  deleted: row(404, 1202, 'document not found'),
  query_invalid: row(400, 10, (why) => why),
  document_invalid: row(400, 10, (why) => why),
  document_id_invalid: row(400, 1221, 'illegal document key'),
  document_too_large: row(413, 1216, 'document too large'),
  bad_parameter: row(400, 400, (why) => why),
  user_not_found: row(404, 1703, 'user not found'),
  user_exists: row(409, 1702, 'duplicate user'),
  user_name_refused: row(400, 1700, 'invalid user name'),
  name_taken: row(409, 1207, 'duplicate name'),
  system_database_only: row(403, 1230, 'operation only allowed in system database'),
  secret_unreadable: row(400, 34, (why) => why),
  authentication_required: row(401, 11, 'not authorized to execute this request'),
  login_required: row(401, 11, 'not authorized to execute this request'),
  credential_refused: row(401, 11, 'not authorized to execute this request'),
  code_required: row(401, 11, 'not authorized to execute this request'),
  certificate_refused: row(401, 11, 'not authorized to execute this request'),
  credential_malformed: row(401, 11, 'not authorized to execute this request'),
  claim_missing: row(401, 11, 'not authorized to execute this request'),
  token_refused: row(401, 11, 'not authorized to execute this request'),
  sign_in_refused: row(401, 401, 'Wrong credentials'),
  users_unsupported: row(401, 401, 'This server does not support users'),
  not_owner: row(403, 403, 'forbidden'),
  admin_required: row(403, 11, 'forbidden'),
  user_required: row(403, 11, 'forbidden'),
  metrics_required: row(403, 11, 'forbidden'),
  forbidden: row(403, 11, (why) => (why === ERRORS.forbidden.text ? 'forbidden' : why)),
  password_required: row(403, 11, (why) => why),
  second_factor_required: row(403, 11, (why) => why),
  password_change_required: row(403, 11, 'the password must be changed first'),
  second_factor_setup_required: row(403, 11, 'a second factor must be set up first, at /_cardea/'),
  page_token_required: row(403, 11, ERRORS.page_token_required.text),
  cross_origin: row(403, 11, ERRORS.cross_origin.text),
  // A locked account and out-of-range hashes look like wrong credentials at this door.
  iterations_too_low: row(401, 11, 'not authorized to execute this request'),
  iterations_too_high: row(401, 11, 'not authorized to execute this request'),
  account_locked: row(401, 11, 'not authorized to execute this request'),
  password_refused: row(400, 10, (why) => why),
  too_many_requests: row(429, 429, 'too many failed password checks, try again later'),
  too_many_sign_ups: row(429, 429, 'too many new users, try again later'),
  overloaded: row(503, 503, 'too many passwords are waiting to be checked'),
  store_unavailable: row(503, 503, 'the user directory cannot be reached'),
  record_damaged: row(503, 503, 'the stored record of this user is damaged'),
  audit_unavailable: row(503, 503, 'the audit trail cannot be written'),
  not_serving: row(503, 503, 'service unavailable'),
  spool_full: row(503, 503, 'too many request bodies are being buffered'),
  upstream_failed: row(502, 502, 'invalid response from the upstream server'),
  provider_unavailable: row(503, 503, 'the identity provider cannot be reached'),
  upstream_unavailable: row(503, 503, 'the upstream server cannot be used now'),
  upstream_rejects_identity: row(502, 502, 'the upstream server rejects the identity that Cardea signs'),
  upstream_timeout: row(504, 504, 'the upstream server did not respond in time'),
  body_consumed: row(500, 4, (why) => why),
  internal: row(500, 4, 'internal error'),
}

export function toMultiModelError(refusal: Refusal): { code: number; errorNum: number; errorMessage: string } {
  const { code, errorNum, errorMessage } = MULTI_MODEL_ERRORS[refusal.code]
  const message = typeof errorMessage === 'string' ? errorMessage : errorMessage(refusalText(refusal))
  return { code, errorNum, errorMessage: message }
}
