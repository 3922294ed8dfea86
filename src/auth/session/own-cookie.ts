/** The cookies of Cardea's own pages: their names, and how they are set and read. */
import { badRequest } from '../../base/errors.ts'
import { CONSOLE_PATH, SIGN_IN_PREFIX } from '../../base/own-paths.ts'
import type { CredentialSource } from '../handler.ts'

/** Browsers accept such a name only with `Secure`, with `Path=/` and without `Domain`: no other host can set it. */
export const HOST_PREFIX = '__Host-'

type Source = Pick<CredentialSource, 'client'>

/** `path`: without TLS, browsers send the cookie to no other paths. */
export function createOwnCookie(name: string, path: string) {
  const hostName = `${HOST_PREFIX}${name}`
  const chooseName = ({ client }: Source): string => (client.scheme === 'https' ? hostName : name)
  return {
    /** Every name that the cookie can have. */
    names: [name, hostName],
    /** Throws if it was sent twice: another host of the domain may have set one of them. */
    find(source: Source & Pick<CredentialSource, 'cookieValues'>): string | undefined {
      const [value, ...others] = source.cookieValues(chooseName(source))
      if (others.length === 0) return value
      throw badRequest(`The cookie ${chooseName(source)} was sent twice. Clear the cookies of this site.`)
    },
    /** Not sent with requests of other sites, and not readable by scripts. Without `seconds` it ends with the browser. */
    render(value: string, source: Source, seconds?: number): readonly [name: string, value: string] {
      const isSecure = source.client.scheme === 'https'
      const attributes = [
        `${chooseName(source)}=${value}`,
        `Path=${isSecure ? '/' : path}`,
        ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
        'HttpOnly',
        'SameSite=Strict',
        ...(isSecure ? ['Secure'] : []),
      ]
      return ['Set-Cookie', attributes.join('; ')]
    },
  }
}

/** The session of the console. */
export const ADMIN_COOKIE = createOwnCookie('CardeaAdmin', CONSOLE_PATH)

/** What a browser wanted when it was sent away to sign in with an external account. */
export const SIGN_IN_COOKIE = createOwnCookie('CardeaSignIn', SIGN_IN_PREFIX)
