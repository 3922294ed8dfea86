import type { HeaderPair, Reply } from '../../http/request-context.ts'

const JSON_HEADERS: readonly HeaderPair[] = [['Content-Type', 'application/json']]

/** A reply with a body alone. */
export const toJsonReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers],
  body: JSON.stringify(value),
})

/** The members of an object beside `error` and `code`, which win. */
export const toMergedReply = (status: number, members: object): Reply =>
  toJsonReply(status, { ...members, error: false, code: status })

/** A value as `result`, beside `error` and `code`. */
export const toWrappedReply = (result: unknown): Reply => toJsonReply(200, { error: false, code: 200, result })

/** That it was done, and nothing else. */
export const toDoneReply = (status: number): Reply => toJsonReply(status, { error: false, code: status })

export const toEmptyReply = (status: number, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [['Content-Type', 'text/plain'], ...headers],
})
