/** What the id of a document in the users database refers to. */
export type DocumentId =
  | { readonly kind: 'user'; readonly id: string; readonly name: string }
  | { readonly kind: 'design' | 'local' | 'other'; readonly id: string }

/** The id of a user document is this prefix and the name: `org.couchdb.user:ada`. */
export const toIdPrefix = (serviceName: string): string => `org.${serviceName.toLowerCase()}.user:`

export function readId(id: string, prefix: string): DocumentId {
  if (id.startsWith(prefix)) return { kind: 'user', id, name: id.slice(prefix.length) }
  if (id.startsWith('_design/')) return { kind: 'design', id }
  return { kind: id.startsWith('_local/') ? 'local' : 'other', id }
}

/** The path of a document for `Location`. The colon needs no encoding there. */
export const toPath = (database: string, id: string): string =>
  `/${encodeURIComponent(database)}/${encodeURIComponent(id.toWellFormed()).replaceAll('%3A', ':')}`
