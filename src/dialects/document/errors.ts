import type { ErrorCode, Refusal } from '../../base/errors.ts'

type Words = { readonly status: number; readonly error: string; readonly reason: string | ((about: string) => string) }

const words = (status: number, error: string, reason: Words['reason']): Words => ({ status, error, reason })

/** Every error in the document database's words. */
export const DOCUMENT_ERRORS: Readonly<Record<ErrorCode, Words>> = {
  malformed_request: words(400, 'bad_request', 'The request is not valid HTTP.'),
  ambiguous_header: words(400, 'bad_request', (name) => `The header ${name} may stand only once.`),
  invalid_host: words(400, 'bad_request', 'Invalid host header'),
  invalid_target: words(400, 'bad_request', 'The request target must be a path without empty or dot segments.'),
  invalid_url_encoding: words(400, 'bad_request', 'invalid_url_encoding'),
  uri_too_long: words(414, 'too_long', 'the request uri is too long'),
  headers_too_large: words(431, 'too_large', 'the request headers are too large or too many'),
  body_too_large: words(413, 'too_large', 'the request entity is too large'),
  request_timeout: words(408, 'timeout', 'The request did not arrive in time.'),
  expectation_failed: words(417, 'expectation_failed', 'Only 100-continue can be expected.'),
  method_not_allowed: words(405, 'method_not_allowed', (methods) => `Only ${methods} allowed`),
  client_gone: words(400, 'bad_request', 'The client went away.'),
  too_many_connections: words(503, 'service unavailable', 'Too many connections are open.'),
  stopping: words(503, 'service unavailable', 'The server is shutting down.'),
  not_found: words(404, 'not_found', 'missing'),
  database_not_found: words(404, 'not_found', 'Database does not exist.'),
  node_not_found: words(404, 'not_found', (name) => `no such node: ${name}`),
  option_not_found: words(404, 'not_found', 'unknown_config_value'),
  option_unknown: words(400, 'bad_request', (why) => why),
  option_refused: words(400, 'bad_request', (why) => why),
  section_protected: words(403, 'forbidden', 'Config section blacklisted for modification over HTTP API.'),
  bad_request: words(400, 'bad_request', (why) => why),
  invalid_json: words(400, 'bad_request', 'invalid UTF-8 JSON'),
  missing_body: words(400, 'bad_request', 'Missing request body'),
  unsupported_media_type: words(415, 'bad_content_type', (wanted) => `Content-Type must be ${wanted}`),
  unsupported_encoding: words(415, 'bad_content_type', (coding) => `${coding} is not a supported content encoding.`),
  conflict: words(409, 'conflict', 'Document update conflict.'),
  database_exists: words(412, 'file_exists', 'The database could not be created, the file already exists.'),
  deleted: words(404, 'not_found', 'deleted'),
  query_invalid: words(400, 'query_parse_error', (why) => why),
  document_invalid: words(400, 'doc_validation', (why) => why),
  document_id_invalid: words(400, 'illegal_docid', (why) => why),
  document_too_large: words(413, 'document_too_large', (id) => id),
  bad_parameter: words(400, 'bad_request', (why) => why),
  user_not_found: words(404, 'not_found', 'missing'),
  user_exists: words(409, 'conflict', 'Document update conflict.'),
  user_name_refused: words(400, 'bad_request', (why) => why),
  name_taken: words(409, 'conflict', 'Document update conflict.'),
  system_database_only: words(403, 'forbidden', (why) => why),
  secret_unreadable: words(400, 'bad_request', (why) => why),
  authentication_required: words(401, 'unauthorized', 'Authentication required.'),
  login_required: words(401, 'unauthorized', 'Please login.'),
  credential_refused: words(401, 'unauthorized', 'Name or password is incorrect.'),
  credential_malformed: words(400, 'bad_request', (what) => what),
  claim_missing: words(404, 'not_found', (what) => what),
  token_refused: words(401, 'unauthorized', (why) => why),
  sign_in_refused: words(401, 'unauthorized', 'Name or password is incorrect.'),
  no_users_here: words(401, 'unauthorized', 'Name or password is incorrect.'),
  somebody_elses: words(403, 'forbidden', (why) => why),
  admin_required: words(401, 'unauthorized', 'You are not a server admin.'),
  // quirk: reference document 0.3: these two sentences have no full stop
  user_required: words(401, 'unauthorized', 'You are not an authenticated user'),
  metrics_required: words(401, 'unauthorized', 'You are not a server admin or read-only metrics user'),
  forbidden: words(403, 'forbidden', (why) => why),
  iterations_too_low: words(403, 'forbidden', 'Iteration count is too low for this server'),
  iterations_too_high: words(403, 'forbidden', 'Iteration count is too high for this server'),
  password_refused: words(400, 'bad_request', (why) => why),
  account_locked: words(403, 'forbidden', 'Account is temporarily locked due to multiple authentication failures'),
  overloaded: words(503, 'service unavailable', 'Too many passwords are waiting to be checked.'),
  store_unavailable: words(503, 'service unavailable', 'The directory of users cannot be reached.'),
  not_serving: words(503, 'service unavailable', 'The directory of users cannot be reached.'),
  upstream_failed: words(502, 'bad_gateway', 'The database behind this server gave no valid answer.'),
  upstream_unavailable: words(503, 'service unavailable', 'The database behind this server cannot be reached.'),
  upstream_timeout: words(504, 'gateway_timeout', 'The database behind this server did not answer in time.'),
  internal: words(500, 'unknown_error', 'Something went wrong.'),
}

export function toDocumentWords(refusal: Refusal): { status: number; error: string; reason: string } {
  const { status, error, reason } = DOCUMENT_ERRORS[refusal.code]
  return { status, error, reason: typeof reason === 'string' ? reason : reason(refusal.about ?? refusal.message) }
}
