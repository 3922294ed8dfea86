// The OpenAPI document of the admin API, made of the rows of all operations.

import { API_PREFIX } from '../../base/own-paths.ts'
import { PRODUCT } from '../../base/product.ts'
import type { Reply, Route } from '../../http/request-context.ts'
import { toApiReply } from './json.ts'
import type { Operation } from './operation.ts'
import type { OperationTable } from './operations.ts'
import { namedObject, type Schema, text } from './schemas/schema.ts'
import { SESSION_ROWS } from './session.ts'

/** For administrators only. */
export function openApiRoute(operations: OperationTable): Route {
  /** Created on the first request: this takes 5 ms. */
  let document: OpenApiDocument | undefined
  const showApi = (): Reply => {
    document ??= describeApi(PRODUCT.version, operations)
    return toApiReply(200, document)
  }
  return { path: `${API_PREFIX}/openapi.json`, methods: { GET: showApi } }
}

/** An operation in the document. */
export interface DescribedOperation
  extends Pick<Operation, 'method' | 'path' | 'summary' | 'query' | 'body' | 'reply' | 'isBodyOptional'> {
  readonly id: string
  /** Content type of the response, where it is not JSON. */
  readonly contentType?: string
}

/** The operations, then the routes that only a request can use. */
export const listDescribed = (operations: OperationTable): readonly DescribedOperation[] => [
  ...Object.entries<Operation>(operations).map(([id, row]) => ({ id, ...row })),
  ...SESSION_ROWS.map((row) => ({ id: `session.${row.method.toLowerCase()}`, ...row })),
  {
    id: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'Show this API as an OpenAPI document',
    reply: { type: 'object' },
  },
  {
    id: 'events',
    method: 'GET',
    path: '/events',
    summary: 'Follow what happens at this node, as server-sent events',
    reply: text('The events `overview`, `counts`, `audit` and `dropped`.'),
    contentType: 'text/event-stream',
  },
]

type Json = Readonly<Record<string, unknown>>

export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly components: { readonly schemas: Json; readonly securitySchemes: Json }
  readonly [member: string]: unknown
}

export function describeApi(version: string, operations: OperationTable): OpenApiDocument {
  const schemas = new Map<string, unknown>()
  const paths = Map.groupBy(listDescribed(operations), ({ path }) => path)
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

const SECURITY: Json = {
  basic: { type: 'http', scheme: 'basic' },
  bearer: { type: 'http', scheme: 'bearer' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-CardeaAdmin', description: 'Without TLS: CardeaAdmin.' },
  pageToken: { type: 'apiKey', in: 'header', name: 'X-Cardea-Page-Token' },
}

const ERROR = namedObject('Error', { error: text('The code.'), reason: text('A sentence for people.') })

function describeOperation({ id, path, summary, query, body, isBodyOptional, reply, contentType }: DescribedOperation) {
  const parameters = [...toPathParameters(path), ...toQueryParameters(query)]
  return {
    operationId: id,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { content: toContent(body), required: !isBodyOptional } }),
    responses: {
      200: { description: 'Success', content: toContent(reply, contentType) },
      default: { description: 'An error', content: toContent(ERROR) },
    },
  }
}

const toContent = (schema: Schema, type = 'application/json') => ({ [type]: { schema } })

const toPathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const toQueryParameters = ({ properties = {}, required = [] }: Schema = {}) =>
  Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    ...(description !== undefined && { description }),
    schema,
  }))

/** Moves each named schema into `schemas` and leaves a reference. */
function hoist<T>(value: T, schemas: Map<string, unknown>): T
function hoist(value: unknown, schemas: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, hoist(member, schemas)])
  const { title, ...schema } = Object.fromEntries(members)
  if (typeof title !== 'string') return Object.fromEntries(members)
  schemas.set(title, schema)
  return { $ref: `#/components/schemas/${title}` }
}
