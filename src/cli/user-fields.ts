// The options and the command for fields of users, from their table.
import { Argument, type Command, Option } from 'commander'
import { toName } from '../dialects/admin-api/schemas/schema.ts'
import { FIELD_ROWS, type Field } from '../directory/users/fields.ts'
import { type AddAccountCommand, act } from './account-commands.ts'
import { usageError } from './context.ts'
import { renderUser } from './shown-users.ts'

/** The options of `cardea user add`, each with the member of the admin API that it gives. */
const OPTIONS = FIELD_ROWS.flatMap(([, { option: row, given }]) => {
  if (!row || given === undefined) return []
  const [form, help, value] = row
  const option = new Option(form, help)
  return [{ option: value === undefined ? option : option.preset(value), member: toName(given) }]
})

export const addFieldOptions = (command: Command): Command =>
  OPTIONS.reduce((all, { option }) => all.addOption(option), command)

/** What the options of a command give, by member of the admin API. */
export const readFieldOptions = (options: object): Readonly<Record<string, unknown>> => {
  const given = new Map(Object.entries(options))
  return Object.fromEntries(
    OPTIONS.flatMap(({ option, member }) => {
      const value: unknown = given.get(option.attributeName())
      return value === undefined ? [] : [[member, value]]
    }),
  )
}

const SETTABLE = new Map(
  FIELD_ROWS.flatMap(([, { type, set }]) => (set ? [[set.path, { ...set, type }] as const] : [])),
)

/** What the admin API gets for the text of a value of these types; `undefined`: there is no such value. */
const VALUES: Readonly<Partial<Record<Field['type'], (text: string) => unknown>>> = {
  flag: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  time: (text) => (text === 'never' ? null : text),
}

/** `cardea user set`: one command for all fields that the admin API sets. */
export const addSet = (named: AddAccountCommand): Command =>
  named('set', 'set a field of a user', (name, field: string, text: string) => {
    const { type, member } = SETTABLE.get(field) ?? {}
    const value = type && VALUES[type]?.(text)
    if (value === undefined || member === undefined) throw usageError(`${field} must be true or false.`)
    // every field with a path has its operation
    const operation = `user.set-${field}` as 'user.set-active'
    return act(operation, { params: { name }, body: { [toName(member)]: value } }, renderUser)
  })
    .addArgument(new Argument('<field>', 'which one').choices([...SETTABLE.keys()]))
    .argument('<value>', 'true or false; a day or a time in UTC, as 2030-12-31T18:00:00Z, or never')
