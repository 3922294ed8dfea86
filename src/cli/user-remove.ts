import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { type Explanations, type ManageOptions, manage, report } from './manage.ts'

export interface RemoveOptions extends ManageOptions {
  /** Whether the name is replaced in the audit trail, too. */
  readonly erase?: boolean
}

type Removal = RemoveOptions & { readonly explanations: Explanations }

export async function removeUser(context: Context, name: string, options: Removal): Promise<void> {
  const { explanations } = options
  if (!options.erase) {
    const call = { params: { name } }
    const removed = await manage(context, options, (control) => control.call('user.remove', call), { explanations })
    return report(context, options, removed, () => `Deleted ${name}.`)
  }
  const erased = await manage(context, options, (control) => removeAndErase(control, name), { explanations })
  const { records, pseudonym } = erased
  const text = records === 0 ? 'No audit record named it.' : `${records} audit records show ${pseudonym} instead.`
  report(context, options, erased, () => `Deleted ${name}. ${text}`)
}

/** A user that was deleted before may still be named in records. */
async function removeAndErase(control: Control, name: string) {
  const missing = await control.call('user.remove', { params: { name } }).then(() => undefined, toMissing)
  const erased = await control.call('audit.erase', { body: { name } })
  if (missing && erased.records === 0) throw missing
  return { name, ...erased }
}

function toMissing(error: unknown): Error {
  if (error instanceof Error && 'code' in error && error.code === 'not_found') return error
  throw error
}
