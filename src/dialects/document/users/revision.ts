import { Refusal } from '../../../base/errors.ts'
import type { UserRecord } from '../../../directory/user.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import { readRevisionText } from './sent.ts'

/** The revision a request speaks of: in its document, its query or its `If-Match`, which must not disagree. */
export function readRequestRevision(context: RequestContext, inDocument: string | undefined): string | undefined {
  const inQuery = readRevisionText(context.query.get('rev') ?? undefined)
  if (inDocument !== undefined && inQuery !== undefined && inDocument !== inQuery) {
    throw refuse('Document rev from request body and query string have different values')
  }
  const given = inDocument ?? inQuery
  const inHeader = readRevisionText(
    context
      .header('if-match')
      ?.trim()
      .replace(/^"(.*)"$/, '$1'),
  )
  if (given !== undefined && inHeader !== undefined && given !== inHeader) {
    throw refuse('Document rev and etag have different values')
  }
  return given ?? inHeader
}

const refuse = (about: string): Refusal => new Refusal('bad_request', { about })

/** A document follows the one that is there. What was deleted may be followed, or passed over. */
export function requireFollows(revision: string | undefined, record: UserRecord | undefined): void {
  const isFollowing =
    record?.kind === 'user'
      ? revision === record.document.revision
      : revision === undefined || revision === record?.revision
  if (!isFollowing) throw new Refusal('conflict')
}
