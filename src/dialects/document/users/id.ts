/** What a document id of this database speaks of. */
export type DocumentId =
  | { readonly kind: 'user'; readonly id: string; readonly name: string }
  | { readonly kind: 'design' | 'local' | 'other'; readonly id: string }

export function readId(id: string, prefix: string): DocumentId {
  if (id.startsWith(prefix)) return { kind: 'user', id, name: id.slice(prefix.length) }
  if (id.startsWith('_design/')) return { kind: 'design', id }
  return { kind: id.startsWith('_local/') ? 'local' : 'other', id }
}

/** The path of a document, as a `Location` shows it. The colon needs no encoding there. */
export const toPath = (database: string, id: string): string =>
  `/${encodeURIComponent(database)}/${encodeURIComponent(id.toWellFormed()).replaceAll('%3A', ':')}`
