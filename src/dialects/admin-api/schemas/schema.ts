/** Short forms of JSON Schema, for the descriptions of operations. A member whose name ends in `?` may be missing. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly [keyword: string]: unknown
}

export type Members = Readonly<Record<string, Schema>>

/** One operation in the OpenAPI document. */
export interface Description {
  /** One sentence without a full stop. */
  readonly summary: string
  readonly query?: Members
  /** Absent: the operation reads no body. */
  readonly body?: Schema
  /** The body of the response 200. */
  readonly reply: Schema
}

const describe = (description: string | undefined): object => (description === undefined ? {} : { description })

export const text = (description?: string): Schema => ({ type: 'string', ...describe(description) })
export const integer = (description?: string): Schema => ({ type: 'integer', ...describe(description) })
export const number = (description?: string): Schema => ({ type: 'number', ...describe(description) })
export const flag = (description?: string): Schema => ({ type: 'boolean', ...describe(description) })

export const oneOf = (values: readonly string[], description?: string): Schema => ({
  type: 'string',
  enum: values,
  ...describe(description),
})

export const listOf = (items: Schema, description?: string): Schema => ({
  type: 'array',
  items,
  ...describe(description),
})

/** An object with any member names. */
export const mapOf = (values: Schema, description?: string): Schema => ({
  type: 'object',
  additionalProperties: values,
  ...describe(description),
})

export const nullable = (schema: Schema, description?: string): Schema => ({
  anyOf: [schema, { type: 'null' }],
  ...describe(description),
})

const OPTIONAL = /\?$/

export const listMemberNames = (members: Members): readonly string[] =>
  Object.keys(members).map((name) => name.replace(OPTIONAL, ''))

/** An object with exactly these members. */
export function object(members: Members, description?: string): Schema {
  const names = Object.keys(members)
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace(OPTIONAL, ''), members[name]])),
    required: names.filter((name) => !OPTIONAL.test(name)),
    additionalProperties: false,
    ...describe(description),
  }
}

/** A schema that the OpenAPI document lists under this name and refers to wherever it is used. */
export const named = (title: string, schema: Schema): Schema => ({ title, ...schema })
