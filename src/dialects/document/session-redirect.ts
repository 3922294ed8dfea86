import { Refusal } from '../../base/errors.ts'

// What a browser could take for the way to another host: `//host`, `/\host`, and characters it drops before it looks.
const NOT_LOCAL = /^\/[/\\]|[\\\p{Cc}]/u

/** A path of this server as it may stand in `Location`. Anything that could lead elsewhere is refused. */
export function readLocalPath(path: string): string {
  if (!path.startsWith('/')) throw new Refusal('bad_request', { about: 'path must begin with a /.' })
  if (NOT_LOCAL.test(path)) throw new Refusal('bad_request', { about: 'path must be a path of this server.' })
  return path.replace(FOREIGN_IN_LOCATION, (text) => encodeURIComponent(text))
}

const FOREIGN_IN_LOCATION = /[^\x21-\x7e]+/g

/** Whether `Accept` names HTML itself. Whoever takes anything at all did not ask for a page. */
export const listsHtml = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return type === 'text/html' && !parameters.some((parameter) => NEVER.test(parameter))
  })

const NEVER = /^q=0(?:\.0*)?$/
