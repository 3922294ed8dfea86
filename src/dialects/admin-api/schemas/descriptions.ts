import { type ListQueryNames, OPERATIONS, type OperationName } from '../operations.ts'
import { ACCOUNT_DESCRIPTIONS } from './account.ts'
import { ADMINISTRATOR_DESCRIPTIONS } from './administrators.ts'
import { AUDIT_DESCRIPTIONS } from './audit.ts'
import { OVERVIEW_DESCRIPTIONS } from './overview.ts'
import { type Description, listMemberNames, object } from './schema.ts'
import { SECRET_DESCRIPTIONS } from './secrets.ts'
import { SERVER_DESCRIPTIONS } from './server.ts'
import { SESSION_DESCRIPTIONS } from './session.ts'
import { SETTING_DESCRIPTIONS } from './settings.ts'
import { TRANSFER_DESCRIPTIONS } from './transfer.ts'
import { USER_DESCRIPTIONS } from './users.ts'

/** Every operation, described. One that is missing here does not compile. */
const DESCRIPTIONS: Readonly<Record<OperationName, Description>> = {
  ...SERVER_DESCRIPTIONS,
  ...ACCOUNT_DESCRIPTIONS,
  ...USER_DESCRIPTIONS,
  ...ADMINISTRATOR_DESCRIPTIONS,
  ...TRANSFER_DESCRIPTIONS,
  ...SETTING_DESCRIPTIONS,
  ...OVERVIEW_DESCRIPTIONS,
  ...AUDIT_DESCRIPTIONS,
  ...SECRET_DESCRIPTIONS,
}

/** An operation with its place. */
export interface DescribedOperation extends Description {
  readonly id: string
  readonly method: string
  /** Below `/_cardea/api`. */
  readonly path: string
  /** Of the response, where it is not JSON. */
  readonly contentType?: string
}

const OWN_DOCUMENT: DescribedOperation = {
  id: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Show this document',
  reply: { type: 'object' },
}

const EVENTS: DescribedOperation = {
  id: 'events',
  method: 'GET',
  path: '/events',
  summary: 'Follow what happens at this node, as server-sent events',
  reply: { type: 'string', description: 'The events `overview`, `counts`, `audit` and `dropped`.' },
  contentType: 'text/event-stream',
}

/** The operations, then the routes that only a request can use. */
export const DESCRIBED: readonly DescribedOperation[] = [
  ...Object.entries(OPERATIONS).map(([id, { method, path }]) => ({
    id,
    method,
    path,
    // `Object.entries` loses the names of the table
    ...DESCRIPTIONS[id as OperationName],
  })),
  ...Object.entries(SESSION_DESCRIPTIONS).map(([method, description]) => ({
    id: `session.${method.toLowerCase()}`,
    method,
    path: '/session',
    ...description,
  })),
  OWN_DOCUMENT,
  EVENTS,
]

const QUERY_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  DESCRIBED.map(({ method, path, query = {} }) => [`${method} ${path}`, listMemberNames(query)]),
)

/** The query parameters of the operation at this place. */
export const listQueryNames: ListQueryNames = ({ method, path }) => QUERY_NAMES.get(`${method} ${path}`) ?? []

export const ERROR = object({
  error: { type: 'string', description: 'The code.' },
  reason: { type: 'string', description: 'A sentence for people.' },
})
