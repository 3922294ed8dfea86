import { ERRORS, type ErrorCode, type Refusal, refusalText } from '../../base/errors.ts'
import type { HeaderPair, Reply } from '../../http/request-context.ts'
import { toDocumentReply } from './body.ts'

/** One that depends on the request is a function of the text of the refusal. */
type Reason = string | ((text: string) => string)

const row = (status: number, error: string, reason: Reason) => ({ status, error, reason })

/** Every error as CouchDB reports it. Errors that CouchDB does not have use its names for similar ones. */
const DOCUMENT_ERRORS: Readonly<Record<ErrorCode, ReturnType<typeof row>>> = {
  malformed_request: row(400, 'bad_request', 'The request is not valid HTTP.'),
  ambiguous_header: row(400, 'bad_request', (name) => `The header ${name} is allowed only once.`),
  invalid_host: row(400, 'bad_request', 'Invalid host header'),
  invalid_target: row(
    400,
    'bad_request',
    'The request target must be an unambiguous path: no host, no fragment, no empty or dot segments, no percent-encoded form of a path of this server.',
  ),
  invalid_url_encoding: row(400, 'bad_request', 'invalid_url_encoding'),
  uri_too_long: row(414, 'too_long', 'the request uri is too long'),
  headers_too_large: row(431, 'too_large', 'the request headers are too large or too many'),
  body_too_large: row(413, 'too_large', 'the request entity is too large'),
  request_timeout: row(408, 'timeout', 'The request did not arrive in time.'),
  expectation_failed: row(417, 'expectation_failed', 'The only supported expectation is 100-continue.'),
  method_not_allowed: row(405, 'method_not_allowed', (methods) => `Only ${methods} allowed`),
  method_override: row(
    400,
    'bad_request',
    'Headers that override the method are not accepted. Send the method itself.',
  ),
  client_gone: row(400, 'bad_request', 'The client disconnected.'),
  too_many_connections: row(503, 'service unavailable', 'Too many connections are open.'),
  shutting_down: row(503, 'service unavailable', 'The server is shutting down.'),
  not_found: row(404, 'not_found', 'missing'),
  database_not_found: row(404, 'not_found', 'Database does not exist.'),
  node_not_found: row(404, 'not_found', (name) => `no such node: ${name}`),
  option_not_found: row(404, 'not_found', 'unknown_config_value'),
  option_unknown: row(400, 'bad_request', (why) => why),
  option_refused: row(400, 'bad_request', (why) => why),
  section_protected: row(403, 'forbidden', 'Config section blacklisted for modification over HTTP API.'),
  bad_request: row(400, 'bad_request', (why) => why),
  invalid_json: row(400, 'bad_request', 'invalid UTF-8 JSON'),
  missing_body: row(400, 'bad_request', 'Missing request body'),
  unsupported_media_type: row(415, 'bad_content_type', (wanted) => `Content-Type must be ${wanted}`),
  unsupported_encoding: row(415, 'bad_content_type', (coding) => `${coding} is not a supported content encoding.`),
  conflict: row(409, 'conflict', 'Document update conflict.'),
  database_exists: row(412, 'file_exists', 'The database could not be created, the file already exists.'),
  deleted: row(404, 'not_found', 'deleted'),
  query_invalid: row(400, 'query_parse_error', (why) => why),
  document_invalid: row(400, 'doc_validation', (why) => why),
  document_id_invalid: row(400, 'illegal_docid', (why) => why),
  document_too_large: row(413, 'document_too_large', (id) => id),
  bad_parameter: row(400, 'bad_request', (why) => why),
  user_not_found: row(404, 'not_found', 'missing'),
  user_exists: row(409, 'conflict', 'Document update conflict.'),
  user_name_refused: row(400, 'bad_request', (why) => why),
  name_taken: row(409, 'conflict', 'Document update conflict.'),
  system_database_only: row(403, 'forbidden', (why) => why),
  secret_unreadable: row(400, 'bad_request', (why) => why),
  authentication_required: row(401, 'unauthorized', 'Authentication required.'),
  login_required: row(401, 'unauthorized', 'Please login.'),
  credential_refused: row(401, 'unauthorized', 'Name or password is incorrect.'),
  code_required: row(401, 'unauthorized', ERRORS.code_required.text),
  certificate_refused: row(401, 'unauthorized', ERRORS.certificate_refused.text),
  credential_malformed: row(400, 'bad_request', (what) => what),
  claim_missing: row(404, 'not_found', (what) => what),
  token_refused: row(401, 'unauthorized', (why) => why),
  sign_in_refused: row(401, 'unauthorized', 'Name or password is incorrect.'),
  users_unsupported: row(401, 'unauthorized', 'Name or password is incorrect.'),
  not_owner: row(403, 'forbidden', (why) => why),
  admin_required: row(401, 'unauthorized', 'You are not a server admin.'),
  // quirk: reference document 0.3: these two sentences have no full stop
  user_required: row(401, 'unauthorized', 'You are not an authenticated user'),
  metrics_required: row(401, 'unauthorized', 'You are not a server admin or read-only metrics user'),
  forbidden: row(403, 'forbidden', (why) => why),
  password_required: row(403, 'forbidden', (why) => why),
  second_factor_required: row(403, 'forbidden', (why) => why),
  password_change_required: row(403, 'forbidden', 'The password must be changed first.'),
  second_factor_setup_required: row(403, 'forbidden', 'A second factor must be set up first, at /_cardea/.'),
  page_token_required: row(403, 'forbidden', ERRORS.page_token_required.text),
  cross_origin: row(403, 'forbidden', ERRORS.cross_origin.text),
  iterations_too_low: row(403, 'forbidden', 'Iteration count is too low for this server'),
  iterations_too_high: row(403, 'forbidden', 'Iteration count is too high for this server'),
  password_refused: row(400, 'bad_request', (why) => why),
  account_locked: row(403, 'forbidden', 'Account is temporarily locked due to multiple authentication failures'),
  too_many_requests: row(429, 'too_many_requests', 'Too many failed password checks. Try again later.'),
  too_many_sign_ups: row(429, 'too_many_requests', 'Too many new users. Try again later.'),
  overloaded: row(503, 'service unavailable', 'Too many passwords are waiting to be checked.'),
  store_unavailable: row(503, 'service unavailable', 'The user directory cannot be reached.'),
  record_damaged: row(503, 'service unavailable', 'The stored record of this user is damaged.'),
  password_check_failed: row(503, 'service unavailable', ERRORS.password_check_failed.text),
  audit_unavailable: row(503, 'service unavailable', ERRORS.audit_unavailable.text),
  not_serving: row(503, 'service unavailable', 'The user directory cannot be reached.'),
  spool_full: row(503, 'service unavailable', 'Too many request bodies are being buffered.'),
  upstream_failed: row(502, 'bad_gateway', 'Invalid response from the database behind this server.'),
  provider_unavailable: row(503, 'service unavailable', 'The identity provider cannot be reached.'),
  upstream_unavailable: row(503, 'service unavailable', 'The database behind this server cannot be used now.'),
  upstream_rejects_identity: row(
    502,
    'bad_gateway',
    'The database behind this server rejects the identity that this server signs. Ask the administrator of this server.',
  ),
  upstream_timeout: row(504, 'gateway_timeout', (why) => why),
  body_consumed: row(500, 'unknown_error', (why) => why),
  internal: row(500, 'unknown_error', 'Internal error.'),
}

export function toDocumentErrorBody(refusal: Refusal) {
  const { error, reason } = DOCUMENT_ERRORS[refusal.code]
  return { error, reason: typeof reason === 'string' ? reason : reason(refusalText(refusal)) }
}

/** An error as a reply, without the headers that depend on the settings. */
export const toDocumentErrorReply = (refusal: Refusal, headers: readonly HeaderPair[] = []): Reply =>
  toDocumentReply(DOCUMENT_ERRORS[refusal.code].status, toDocumentErrorBody(refusal), headers)
