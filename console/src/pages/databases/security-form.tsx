import { api, isConflict, type SecurityView, toPath } from '../../api/client.ts'
import { Problem, useSubmit } from '../../ui/field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Button, Section } from '../../ui/parts.tsx'
import { useSharedValue } from '../../ui/shared-value.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

interface SecurityFormProps {
  readonly name: string
  /** As it is now. */
  readonly security: SecurityView
  readonly onChange: () => void
}

/** The four lists of `_security`. */
const FIELDS = [
  ['admins', 'names', texts.adminNames],
  ['admins', 'roles', texts.adminRoles],
  ['members', 'names', texts.memberNames],
  ['members', 'roles', texts.memberRoles],
] as const

/**
 * Changes who may use a CouchDB database. What is saved is based on the value that was shown: if it has changed since,
 * both are shown, and the person chooses.
 */
export function SecurityForm({ name, security, onChange }: SecurityFormProps) {
  const shared = useSharedValue(JSON.stringify(security))
  const { value, setValue, base, isChanged, isOverridden, keep, replace } = shared
  const wanted: SecurityView = JSON.parse(value)
  const { submit, isBusy, problem } = useSubmit(async () => {
    try {
      await api.put(toPath('databases', name, 'security'), { security: wanted, expected: JSON.parse(base) })
      shared.setSaved()
      notify(texts.saved(name))
    } catch (error) {
      // the list loads the value of now, and the form shows both
      if (!isConflict(error)) throw error
    }
    onChange()
  })
  return (
    <Section title={texts.security}>
      <form class="stack" onSubmit={submit}>
        <p class="quiet">{texts.securityText}</p>
        {FIELDS.map(([who, what, label]) => (
          <NamesField
            key={label}
            label={label}
            names={wanted[who][what]}
            onNames={(names) => setValue(JSON.stringify({ ...wanted, [who]: { ...wanted[who], [what]: names } }))}
            {...(what === 'roles' && { of: 'roles' })}
          />
        ))}
        {wanted.members.names.length + wanted.members.roles.length === 0 && (
          <p class="notice warning">{texts.noMembers}</p>
        )}
        {isOverridden ? (
          <Changed security={security} onTake={keep} onKeep={replace} />
        ) : (
          <div class="row">
            <Button type="submit" kind="primary" isBusy={isBusy} disabled={!isChanged}>
              {texts.saveSecurity}
            </Button>
          </div>
        )}
        <Problem text={problem} />
      </form>
    </Section>
  )
}

interface ChangedProps {
  readonly security: SecurityView
  readonly onTake: () => void
  readonly onKeep: () => void
}

/** Another administrator changed it while this one typed. */
const Changed = ({ security, onTake, onKeep }: ChangedProps) => (
  <div class="notice warning stack" role="alert">
    <p>{texts.changed}</p>
    <ul>
      {FIELDS.map(([who, what, label]) => (
        <li key={label}>
          {label}: <span class="mono">{security[who][what].join(', ') || texts.nobody}</span>
        </li>
      ))}
    </ul>
    <div class="row">
      <Button onClick={onTake}>{texts.takeTheirs}</Button>
      <Button onClick={onKeep}>{texts.keepMine}</Button>
    </div>
  </div>
)
