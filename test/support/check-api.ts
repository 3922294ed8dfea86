/** Compares what the admin API receives and sends with its OpenAPI document. */
import assert from 'node:assert/strict'
import { Ajv, type ValidateFunction } from 'ajv'
import { decodePercent } from '../../src/base/encoding.ts'
import { describeApi } from '../../src/dialects/admin-api/openapi.ts'
import { createRouter } from '../../src/http/dispatch.ts'
import { OPERATIONS } from '../../src/modules.ts'

export interface ApiCall {
  readonly method: string
  /** Below `/_cardea/api`, with its query. */
  readonly path: string
  readonly sent: unknown
  readonly status: number
  readonly received: unknown
}

const document = describeApi('test', OPERATIONS)
const ajv = new Ajv({ strict: false, allErrors: true })
ajv.addSchema(document, 'api')

const router = createRouter(Object.keys(document.paths).map((path) => ({ path, methods: {} })))
const validators = new Map<string, ValidateFunction>()

function validatorOf(pointer: readonly string[]): ValidateFunction {
  const $ref = `api#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
  const known = validators.get($ref) ?? ajv.compile({ $ref })
  validators.set($ref, known)
  return known
}

/** Throws if a response, or the body of a request that succeeded, is not as the document describes it. */
export function checkApiCall({ method, path, sent, status, received }: ApiCall): void {
  const found = findOperation(method, path)
  if (!found) assert.ok(status >= 400, `${method} ${path} is not in the OpenAPI document`)
  else if (status !== 200) check([...found.pointer, 'responses', 'default'], received, `${method} ${path}: the error`)
  else {
    check([...found.pointer, 'responses', '200'], received, `${method} ${path}: the response`)
    if (found.hasBody && sent !== undefined)
      check([...found.pointer, 'requestBody'], sent, `${method} ${path}: the body`)
  }
}

interface FoundOperation {
  readonly pointer: readonly string[]
  readonly hasBody: boolean
}

function findOperation(method: string, path: string): FoundOperation | undefined {
  // the document has the present name of a path only
  const current = path.replace(/\?.*/s, '').replace(/^\/exchange\//, '/transfer/')
  const segments = current.split('/').filter(Boolean)
  const template = router(segments.map((segment) => decodePercent(segment) ?? ''))?.route.path ?? ''
  const name = method.toLowerCase()
  const operation = document.paths[template]?.[name]
  return operation && { pointer: ['paths', template, name], hasBody: operation['requestBody'] !== undefined }
}

function check(pointer: readonly string[], value: unknown, what: string): void {
  const validate = validatorOf([...pointer, 'content', 'application/json', 'schema'])
  assert.ok(validate(value), `${what} differs from the OpenAPI document: ${ajv.errorsText(validate.errors)}`)
}
