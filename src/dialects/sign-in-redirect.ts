// Sends browsers without a session to the sign-in page, and back afterwards.
import { badRequest } from '../base/errors.ts'
import { SIGN_IN_PREFIX } from '../base/own-paths.ts'
import { findRedirect } from '../http/form.ts'
import type { HeaderPair, RequestHead } from '../http/request-context.ts'

/** Whether `Accept` lists HTML by name, as browsers do for pages. A wildcard does not count. */
export const acceptsHtml = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** Whether a browser wants to show a page. A program, or a client whose `Authorization` is wrong, keeps its 401. */
export const wantsPage = (context: RequestHead, method: string): boolean =>
  method === 'GET' && context.header('authorization') === undefined && acceptsHtml(context.header('accept'))

/** The cookie of a sign-in with an external account has it, and a cookie has at most 4096 bytes. */
const MAX_NEXT = 2048

/** A page with a longer address is not returned to. */
export const toSignInPage = (page: string): HeaderPair => [
  'Location',
  page.length > MAX_NEXT ? SIGN_IN_PREFIX : `${SIGN_IN_PREFIX}?next=${encodeURIComponent(page)}`,
]

/** The path to go to after the sign-in. Throws if it is not one of this server, or too long. */
export function findNext(context: RequestHead): string | undefined {
  const next = findRedirect(context, 'next')
  if (next !== undefined && next.length > MAX_NEXT) throw badRequest(`next must have at most ${MAX_NEXT} characters.`)
  return next
}
