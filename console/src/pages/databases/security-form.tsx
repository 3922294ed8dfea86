import { api, isConflict, type Security, toPath } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Problem, useSubmit } from '../../ui/field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Button, Section } from '../../ui/parts.tsx'
import { useSharedValue } from '../../ui/shared-value.tsx'
import { notify } from '../../ui/toast.tsx'

interface SecurityFormProps {
  readonly name: string
  /** As it is now. */
  readonly security: Security
  readonly onChange: () => void
}

/** The four lists of `_security`. */
const FIELDS = [
  ['admins', 'names', texts.databases.adminNames],
  ['admins', 'roles', texts.databases.adminRoles],
  ['members', 'names', texts.databases.memberNames],
  ['members', 'roles', texts.databases.memberRoles],
] as const

/**
 * Changes who may use a CouchDB database. What is saved is based on the value that was shown: if it has changed since,
 * both are shown, and the person chooses.
 */
export function SecurityForm({ name, security, onChange }: SecurityFormProps) {
  const { value, setValue, base, isChanged, isOverridden, keep, replace } = useSharedValue(JSON.stringify(security))
  const wanted: Security = JSON.parse(value)
  const { submit, isBusy, problem } = useSubmit(async () => {
    try {
      await api.put(toPath('databases', name, 'security'), { security: wanted, expected: JSON.parse(base) })
      notify(texts.databases.saved(name))
    } catch (error) {
      // the list loads the value of now, and the form shows both
      if (!isConflict(error)) throw error
    }
    onChange()
  })
  return (
    <Section title={texts.databases.security}>
      <form class="stack" onSubmit={submit}>
        <p class="quiet">{texts.databases.securityText}</p>
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
          <p class="notice warning">{texts.databases.noMembers}</p>
        )}
        {isOverridden ? (
          <Changed security={security} onTake={keep} onKeep={replace} />
        ) : (
          <div class="row">
            <Button type="submit" kind="primary" isBusy={isBusy} disabled={!isChanged}>
              {texts.databases.saveSecurity}
            </Button>
          </div>
        )}
        <Problem text={problem} />
      </form>
    </Section>
  )
}

interface ChangedProps {
  readonly security: Security
  readonly onTake: () => void
  readonly onKeep: () => void
}

/** Another administrator changed it while this one typed. */
const Changed = ({ security, onTake, onKeep }: ChangedProps) => (
  <div class="notice warning stack" role="alert">
    <p>{texts.databases.changed}</p>
    <ul>
      {FIELDS.map(([who, what, label]) => (
        <li key={label}>
          {label}: <span class="mono">{security[who][what].join(', ') || texts.databases.nobody}</span>
        </li>
      ))}
    </ul>
    <div class="row">
      <Button onClick={onTake}>{texts.databases.takeTheirs}</Button>
      <Button onClick={onKeep}>{texts.databases.keepMine}</Button>
    </div>
  </div>
)
