/** `account`: every credential of the name must be checked again. `everything`: of every name. */
export type Revocation =
  | { readonly kind: 'session'; readonly id: string; readonly name: string }
  | { readonly kind: 'account'; readonly name: string }
  | { readonly kind: 'everything' }

export interface RevocationFeed {
  /** Called after the fact, immediately for changes made by this process. Returns a function that removes the listener. */
  onRevoked(listener: (revocation: Revocation) => void): () => void
}
