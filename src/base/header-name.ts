/** A header name as the least careful server might read it: no case, and one sign for all that is no letter or digit. */
export const normalizeHeaderName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

/** Headers by which a client asks for another method than the one in the request line, in their normal form. */
export const METHOD_OVERRIDES: readonly string[] = ['x-http-method-override', 'x-http-method', 'x-method-override']
