/**
 * Short forms of JSON Schema. One schema gives the type of its values, the check of a request, the OpenAPI document and
 * the tables of the documentation. A member whose name ends in `?` may be missing.
 */
declare const VALUE: unique symbol

/** A JSON schema of values of the type `T`. */
export interface Schema<T = unknown> {
  readonly type?: string
  readonly description?: string
  /** The OpenAPI document lists the schema under this name and refers to it wherever it is used. */
  readonly title?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  /** For the compiler only: it makes schemas of different values different types. */
  readonly [VALUE]?: T
}

/** The type of the values that a schema describes. */
export type Static<S> = S extends Schema<infer T> ? T : never

type SchemaMembers = Readonly<Record<string, Schema>>

/** The values of an object with these members. */
export type ObjectOf<M> = Flat<
  { readonly [K in keyof M as K extends `${string}?` ? never : K]: Static<M[K]> } & {
    readonly [K in keyof M as K extends `${infer N}?` ? N : never]?: Static<M[K]>
  }
>
type Flat<T> = { readonly [K in keyof T]: T[K] }

const describe = (description: string | undefined): object => (description === undefined ? {} : { description })

export const text = (description?: string): Schema<string> => ({ type: 'string', ...describe(description) })
export const integer = (description?: string): Schema<number> => ({ type: 'integer', ...describe(description) })
export const number = (description?: string): Schema<number> => ({ type: 'number', ...describe(description) })
export const flag = (description?: string): Schema<boolean> => ({ type: 'boolean', ...describe(description) })

export const NEXT = text('The value of `after` for the next page; absent on the last one.')

/** A whole number from 1 on. */
export const count = (maximum: number, description: string): Schema<number> => ({
  ...integer(description),
  minimum: 1,
  maximum,
})

export const oneOf = <const V extends string>(values: readonly V[], description?: string): Schema<V> => ({
  type: 'string',
  enum: values,
  ...describe(description),
})

export const listOf = <T>(items: Schema<T>, description?: string): Schema<readonly T[]> => ({
  type: 'array',
  items,
  ...describe(description),
})

/** An object with any member names. */
export const mapOf = <T>(values: Schema<T>, description?: string): Schema<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
  ...describe(description),
})

export const nullable = <T>(schema: Schema<T>, description?: string): Schema<T | null> => ({
  anyOf: [schema, { type: 'null' }],
  ...describe(description),
})

const OPTIONAL = /\?$/

/** The name of a member without the mark that it may be missing. */
export const toName = (member: string): string => member.replace(OPTIONAL, '')

/** An object with exactly these members. */
export function object<const M extends SchemaMembers>(members: M, description?: string): Schema<ObjectOf<M>> {
  const names = Object.keys(members)
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(members).map(([name, each]) => [toName(name), each])),
    required: names.filter((name) => !OPTIONAL.test(name)),
    additionalProperties: false,
    ...describe(description),
  }
}

export const named = <T>(title: string, schema: Schema<T>): Schema<T> => ({ title, ...schema })

export const namedObject = <const M extends SchemaMembers>(title: string, members: M): Schema<ObjectOf<M>> =>
  named(title, object(members))
