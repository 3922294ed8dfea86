// The OpenAPI document of the admin API, made of the descriptions of all operations.
import type { Route } from '../../http/request-context.ts'
import { toJsonReply } from './json.ts'
import { API_PREFIX } from './operations.ts'
import { DESCRIBED, type DescribedOperation, ERROR } from './schemas/descriptions.ts'
import type { Members, Schema } from './schemas/schema.ts'
import { named } from './schemas/schema.ts'

/** For administrators only. */
export function openApiRoute(product: { readonly version: string }): Route {
  // created on the first request: this takes 5 ms, and each door has a document of its own
  let document: OpenApiDocument | undefined
  const read = () => {
    document ??= describeApi(DESCRIBED, product.version)
    return toJsonReply(200, document)
  }
  return { path: `${API_PREFIX}/openapi.json`, methods: { GET: read } }
}

export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: Schema }
  readonly [member: string]: unknown
}

export function describeApi(operations: readonly DescribedOperation[], version: string): OpenApiDocument {
  const schemas = new Map<string, Schema>()
  const paths = Map.groupBy(operations, ({ path }) => path)
  const toMethods = (rows: readonly DescribedOperation[]) =>
    Object.fromEntries(rows.map((row) => [row.method.toLowerCase(), hoist(describeOperation(row), schemas)]))
  const described = Object.fromEntries([...paths].map(([path, rows]) => [path, toMethods(rows)]))
  return {
    openapi: '3.1.0',
    info: { title: 'Cardea admin API', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: API_PREFIX }],
    security: [{ basic: [] }, { bearer: [] }, { session: [], pageToken: [] }],
    paths: described,
    components: { schemas: Object.fromEntries(schemas), securitySchemes: SECURITY },
  }
}

const SECURITY: Schema = {
  basic: { type: 'http', scheme: 'basic' },
  bearer: { type: 'http', scheme: 'bearer' },
  session: { type: 'apiKey', in: 'cookie', name: 'CardeaAdmin' },
  pageToken: { type: 'apiKey', in: 'header', name: 'X-Cardea-Page-Token' },
}

function describeOperation({ id, path, summary, query = {}, body, reply, contentType }: DescribedOperation): Schema {
  const parameters = [...toPathParameters(path), ...toQueryParameters(query)]
  return {
    operationId: id,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { content: toContent(body), required: isRequired(body) } }),
    responses: {
      200: { description: 'Success', content: toContent(reply, contentType) },
      default: { description: 'An error', content: toContent(named('Error', ERROR)) },
    },
  }
}

const toContent = (schema: Schema, type = 'application/json') => ({ [type]: { schema } })

const isRequired = ({ required }: Schema): boolean => Array.isArray(required) && required.length > 0

const toPathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const toQueryParameters = (query: Members) =>
  Object.entries(query).map(([name, { description, ...schema }]) => ({
    name: name.replace(/\?$/, ''),
    in: 'query',
    ...(!name.endsWith('?') && { required: true }),
    ...(description !== undefined && { description }),
    schema,
  }))

/** Moves each named schema into `schemas` and leaves a reference. */
function hoist<T>(value: T, schemas: Map<string, Schema>): T
function hoist(value: unknown, schemas: Map<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, hoist(member, schemas)])
  const { title, ...schema } = Object.fromEntries(members)
  if (typeof title !== 'string') return Object.fromEntries(members)
  schemas.set(title, schema)
  return { $ref: `#/components/schemas/${title}` }
}
