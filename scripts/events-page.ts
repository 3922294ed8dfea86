import { SECURITY_EVENTS } from '../src/modules.ts'
import type { EventField, EventRow } from '../src/observe/security-event-table.ts'
import { renderTable } from './metrics-page.ts'

/** Fields a record has besides those of its row. */
export const COMMON_FIELDS: Readonly<Record<string, string>> = {
  event: 'Kind of the event, from the tables below.',
  outcome: '`success` or `failure`.',
  node: 'Name of the node (`[node] name`).',
  actor:
    'Name of the identity that made the request; `_owner` on the control socket, `_superuser` for a superuser token. Absent for an anonymous request, and where no request caused the event.',
  peer: 'Address of the client, after the decision which proxies are trusted. Absent on a Unix socket.',
  door: 'Where the request came in: `document`, `multi-model`, `admin` (`admin.endpoint`) or `control` (the control socket).',
  handler:
    'Credential handler that recognised the credential, for example `cookie` or `basic`. `default` is Basic at the document door, as CouchDB calls it.',
  request:
    'Id of the request, as in the response header: `X-Couch-Request-ID` at the document door, elsewhere `X-Request-Id`.',
}

/** docs/reference/security-events.md, from the table. */
export function renderEventsPage(): string {
  return `${INTRODUCTION}
${renderTable(
  ['Field', 'Meaning'],
  Object.entries(COMMON_FIELDS).map(([name, help]) => [`\`${name}\``, help]),
)}
${renderOverview()}
${Object.entries<EventRow>(SECURITY_EVENTS).map(renderEvent).join('\n')}`
}

const INTRODUCTION = `<!-- Generated from src/observe/security-event-table.ts. Change that file and run: npm run generate -->
# Security events

Cardea logs one line for each of these events, at the level in the table, and keeps it in the
[audit trail](../guides/audit.md): \`cardea audit list\` shows the same fields. The log is JSON, one object per line, and
text on a terminal; \`[log] format\` chooses one.

- No line contains a password, token, cookie or key. Text from clients is cut at 256 bytes, and control characters are
  escaped.
- A sign-in is a new session or token, or the first use of a credential that is sent with every request (Basic, JWT,
  proxy headers). Later requests with the same credential are not logged while Cardea remembers it. A JWT or
  proxy header with other roles, or a JWT signed with another key, counts as another credential.
- A session cookie with a wrong signature is a refused sign-in. An expired or revoked cookie is not logged.
- The first refusal of a name from a peer is logged at once. Further ones become one line per minute with \`count\`, and
  the other fields of the last one. The addresses of one IPv6 /64 network are one peer.
- At most 100 names of a peer are counted separately. The others share one line with the subject
  \`(and N other names)\`, and \`names\` is N.
- At most 1000 pairs of peer and name are counted separately, half of them for the first name of a peer; the peers above
  that share the peer \`(other peers)\`.
- Failures of one upstream server are logged in the same way.

## Fields of every event
`

const renderOverview = (): string => `
## Events

${renderTable(
  ['Event', 'Level', 'Message'],
  Object.entries<EventRow>(SECURITY_EVENTS).map(([kind, { level, sentence }]) => [`\`${kind}\``, level, sentence]),
)}`

function renderEvent([kind, { fields }]: [string, EventRow]): string {
  const rows = Object.entries(fields).map(([name, field]) => [`\`${name}\``, describeField(field)])
  if (rows.length === 0) return ''
  return `### ${kind}\n\n${renderTable(['Field', 'Meaning'], rows)}`
}

const describeField = ({ help, isOptional }: EventField): string =>
  isOptional && !help.includes('Absent') ? `${help} Optional.` : help
