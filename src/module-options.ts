/**
 * The table of options with those of every module. Apart from `modules.ts`, because every command reads options: the code
 * of all modules takes longer to load than many commands run.
 */
import { createOptionTable, type ModuleOptions } from './config/options.ts'
import { couchdbUsersOptions } from './modules/couchdb-users/options.ts'
import { documentGrantsOptions } from './modules/document-grants/options.ts'
import { mailOptions } from './modules/mail/options.ts'
import type { Merged } from './modules/module.ts'
import { passkeysOptions } from './modules/passkeys/options.ts'
import { providersOptions } from './modules/providers/options.ts'
import { tracingOptions } from './modules/tracing/options.ts'
import { userDatabasesOptions } from './modules/user-databases/options.ts'
import { writeAuditOptions } from './modules/write-audit/options.ts'

/** In the order of `modules.ts`. */
const LIST = [
  providersOptions,
  userDatabasesOptions,
  documentGrantsOptions,
  mailOptions,
  writeAuditOptions,
  passkeysOptions,
  couchdbUsersOptions,
  tracingOptions,
] as const satisfies readonly ModuleOptions[]

type Rows = Merged<(typeof LIST)[number], 'rows'>

declare module './config/options.ts' {
  interface OptionRows extends Rows {}
}

const OPTIONS_OF_MODULES: readonly ModuleOptions[] = LIST

const merge = <K extends 'rows' | 'sections' | 'named'>(kind: K) =>
  Object.assign({}, ...OPTIONS_OF_MODULES.map((options) => options[kind])) as Merged<(typeof LIST)[number], K>

export const OPTION_TABLE = createOptionTable({
  rows: merge('rows'),
  sections: merge('sections'),
  named: merge('named'),
  rules: OPTIONS_OF_MODULES.flatMap(({ rules = [] }) => rules),
})
