/** How large the head of a response of an upstream may be. */
export const MAX_UPSTREAM_HEADER_BYTES = 65_536

/** Headers whose names and values are in one list, in turn. */
export const toPairs = (flat: readonly string[]): [name: string, value: string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as [string, string]] : []))

/** Headers about one connection, which HTTP/2 does not have (RFC 9113 8.2.2): Node throws if one is sent. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])
