import type { HeaderPair, Reply } from '../../door/exchange.ts'

const JSON_HEADERS: readonly HeaderPair[] = [['Content-Type', 'application/json']]

export const toJsonReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers],
  body: JSON.stringify(value),
})

export const toEmptyReply = (status: number, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [['Content-Type', 'text/plain'], ...headers],
})
