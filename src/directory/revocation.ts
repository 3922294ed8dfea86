/** `account`: every credential of the name must be checked again. `everything`: of every name. */
export type Revocation =
  | { readonly kind: 'session'; readonly id: string; readonly name: string }
  | { readonly kind: 'account'; readonly name: string }
  | { readonly kind: 'everything' }
