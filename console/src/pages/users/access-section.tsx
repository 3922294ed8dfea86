import { useState } from 'preact/hooks'
import { type AccessReportView, api, toPath, type UserDetailsView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { Badge, Section } from '../../ui/parts.tsx'
import { Loaded } from '../../ui/states.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { texts } from './texts.ts'

/** What the user may reach, and why. */
export function AccessSection({ user: { name, roles, grants, active } }: Readonly<{ user: UserDetailsView }>) {
  // the first database with a grant is checked unless another one is typed
  const [database, setDatabase] = useState(Object.keys(grants).find((each) => each !== '*') ?? '')
  const settled = useDebounced(database, 250)
  const report = useResource(
    JSON.stringify([name, settled, roles, grants, active]),
    (signal) => api.get<AccessReportView>(toPath('users', name, 'access'), { database: settled }, signal),
    { keepsLast: true },
  )
  return (
    <Section title={texts.access}>
      <input
        class="input mono"
        aria-label={texts.accessDatabase}
        placeholder={texts.accessDatabase}
        value={database}
        onInput={(event) => setDatabase(event.currentTarget.value)}
      />
      <Loaded resource={report} what={texts.access}>
        {({ doors }) => (
          <>
            {doors.map((door) => (
              <DoorRules key={door.door} {...door} />
            ))}
          </>
        )}
      </Loaded>
    </Section>
  )
}

type Rule = AccessReportView['doors'][number]['rules'][number]

const allowedFirst = (one: Rule, other: Rule): number => Number(other.isAllowed) - Number(one.isAllowed)

export const DoorRules = ({ door, rules }: AccessReportView['doors'][number]) => (
  <div class="rules">
    <h4>{shared.doors[door] ?? door}</h4>
    <ul>
      {rules.toSorted(allowedFirst).map(({ what, isAllowed, because }) => (
        <li key={what}>
          <Verdict isAllowed={isAllowed} />
          <span>
            {what} <span class="quiet small reason">{because}</span>
          </span>
        </li>
      ))}
    </ul>
  </div>
)

function Verdict({ isAllowed }: { readonly isAllowed: boolean | null }) {
  if (isAllowed === null) return <Badge>{texts.undecided}</Badge>
  return <Badge tone={isAllowed ? 'success' : undefined}>{isAllowed ? texts.allowed : texts.refused}</Badge>
}
