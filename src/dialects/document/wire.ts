import type { HeaderPair, Reply } from '../../http/request-context.ts'

const JSON_HEADERS: readonly HeaderPair[] = [
  ['Cache-Control', 'must-revalidate'],
  ['Content-Type', 'application/json'],
]

/** JSON in one piece ends with a newline, which `Content-Length` counts. */
export const toJsonReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers],
  body: `${JSON.stringify(value)}\n`,
})
