/** How the text of an option becomes a value and back. `print(parse(text))` reads back as the same value. */
export interface Codec<T> {
  /** What a text must be, for help and for "expected …". */
  readonly expects: string
  /** Throws `RangeError('what was expected')`; the text itself never stands in the message. */
  parse(text: string): T
  print(value: T): string
  /** A flag without a value means `true`. */
  readonly isBoolean?: true
  /** A repeated flag adds to the list. */
  readonly isList?: true
  /** Makes what is relative in the text absolute. */
  resolve?(text: string, folder: string): string
  /** Something legal that deserves a sentence at start. */
  warn?(value: T): string | undefined
  /** For secret options whose value is not always one, as a URL that may hold a password. */
  carriesSecret?(text: string): boolean
}

export interface Option<T> {
  readonly codec: Codec<T>
  readonly initial: T
  /** `live` takes effect on reload, `restart` only at the next start. */
  readonly reload: 'live' | 'restart'
  readonly help: string
  readonly secret?: true
  /** Whether it can be set over HTTP. */
  readonly http: boolean
}

/** A row as the table writes it: a default outside the codec's words does not compile. */
export type Row<T> = Omit<Option<T>, 'initial' | 'http'> & { readonly initial: NoInfer<T>; readonly http?: boolean }

export const option = <T>(row: Row<T>): Option<T> => Object.freeze({ http: true, ...row })

/** What stands in place of a secret wherever one would be shown. */
export const MASK = '***'

/** Whether this text of this option must not be shown. An empty secret is no secret, and worth seeing. */
export function isConcealed(row: Option<unknown>, text: string): boolean {
  if (!row.secret || text === '') return false
  return row.codec.carriesSecret?.(text) ?? true
}
