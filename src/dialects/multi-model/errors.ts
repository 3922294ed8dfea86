import { ERRORS, type ErrorCode, type Refusal } from '../../base/errors.ts'

type Words = {
  readonly code: number
  readonly errorNum: number
  readonly errorMessage: string | ((about: string) => string)
}

const words = (code: number, errorNum: number, errorMessage: Words['errorMessage']): Words => ({
  code,
  errorNum,
  errorMessage,
})

/** Every error in the multi-model database's words: status, its own number, its sentence. */
export const MULTI_MODEL_ERRORS: Readonly<Record<ErrorCode, Words>> = {
  malformed_request: words(400, 400, 'the request is not valid HTTP'),
  ambiguous_header: words(400, 400, (name) => `the header ${name} may stand only once`),
  invalid_host: words(400, 400, 'the Host header is missing or not a host'),
  invalid_target: words(400, 400, 'the request target is not a path with a single meaning'),
  invalid_url_encoding: words(400, 400, 'the request path is not validly encoded'),
  uri_too_long: words(414, 414, 'the request path is too long'),
  headers_too_large: words(431, 431, 'the request headers are too large or too many'),
  body_too_large: words(413, 413, 'the request body is too large'),
  request_timeout: words(408, 408, 'the request did not arrive in time'),
  expectation_failed: words(417, 417, 'only 100-continue can be expected'),
  method_not_allowed: words(405, 405, 'method not supported'),
  method_override: words(400, 400, 'headers that override the method are not accepted'),
  client_gone: words(400, 400, 'the client went away'),
  too_many_connections: words(503, 503, 'too many connections are open'),
  shutting_down: words(503, 30, 'shutdown in progress'),
  not_found: words(404, 404, (what) => what),
  database_not_found: words(404, 1228, 'database not found'),
  node_not_found: words(404, 404, (name) => `unknown server '${name}'`),
  option_not_found: words(404, 404, 'unknown option'),
  option_unknown: words(400, 10, (why) => why),
  option_refused: words(400, 10, (why) => why),
  section_protected: words(403, 11, 'forbidden'),
  bad_request: words(400, 10, (why) => why),
  invalid_json: words(400, 600, 'invalid JSON object'),
  missing_body: words(400, 400, 'invalid JSON'),
  unsupported_media_type: words(415, 10, (wanted) => `the content type must be ${wanted}`),
  unsupported_encoding: words(415, 10, (coding) => `the content encoding ${coding} is not supported`),
  conflict: words(409, 1200, 'conflict'),
  database_exists: words(409, 1207, 'duplicate name'),
  deleted: words(404, 1202, 'document not found'),
  query_invalid: words(400, 10, (why) => why),
  document_invalid: words(400, 10, (why) => why),
  document_id_invalid: words(400, 1221, 'illegal document key'),
  document_too_large: words(413, 1216, 'document too large'),
  bad_parameter: words(400, 400, (why) => why),
  user_not_found: words(404, 1703, 'user not found'),
  user_exists: words(409, 1702, 'duplicate user'),
  user_name_refused: words(400, 1700, 'invalid user name'),
  name_taken: words(409, 1207, 'duplicate name'),
  system_database_only: words(403, 1230, 'operation only allowed in system database'),
  secret_unreadable: words(400, 34, (why) => why),
  authentication_required: words(401, 11, 'not authorized to execute this request'),
  login_required: words(401, 11, 'not authorized to execute this request'),
  credential_refused: words(401, 11, 'not authorized to execute this request'),
  credential_malformed: words(401, 11, 'not authorized to execute this request'),
  claim_missing: words(401, 11, 'not authorized to execute this request'),
  token_refused: words(401, 11, 'not authorized to execute this request'),
  sign_in_refused: words(401, 401, 'Wrong credentials'),
  users_unsupported: words(401, 401, 'This server does not support users'),
  not_owner: words(403, 403, 'forbidden'),
  admin_required: words(403, 11, 'forbidden'),
  user_required: words(403, 11, 'forbidden'),
  metrics_required: words(403, 11, 'forbidden'),
  forbidden: words(403, 11, (why) => (why === ERRORS.forbidden ? 'forbidden' : why)),
  password_required: words(403, 11, (why) => why),
  page_token_required: words(403, 11, ERRORS.page_token_required),
  cross_origin: words(403, 11, ERRORS.cross_origin),
  // A locked account and out-of-range hashes look like wrong credentials at this door.
  iterations_too_low: words(401, 11, 'not authorized to execute this request'),
  iterations_too_high: words(401, 11, 'not authorized to execute this request'),
  account_locked: words(401, 11, 'not authorized to execute this request'),
  password_refused: words(400, 10, (why) => why),
  too_many_requests: words(429, 429, 'too many failed password checks, try again later'),
  overloaded: words(503, 503, 'too many passwords are waiting to be checked'),
  store_unavailable: words(503, 503, 'the directory of users cannot be reached'),
  not_serving: words(503, 503, 'service unavailable'),
  spool_full: words(503, 503, 'too many bodies are being put together'),
  upstream_failed: words(502, 502, 'the server behind this one gave no valid answer'),
  upstream_unavailable: words(503, 503, 'the server behind this one cannot be reached'),
  upstream_rejects_identity: words(502, 502, 'the server behind this one rejects the identity that this one signs'),
  upstream_timeout: words(504, 504, 'the server behind this one did not answer in time'),
  internal: words(500, 4, 'internal error'),
}

export function toMultiModelWords(refusal: Refusal): { code: number; errorNum: number; errorMessage: string } {
  const { code, errorNum, errorMessage } = MULTI_MODEL_ERRORS[refusal.code]
  const message = typeof errorMessage === 'string' ? errorMessage : errorMessage(refusal.about ?? refusal.message)
  return { code, errorNum, errorMessage: message }
}
