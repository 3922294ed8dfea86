import type { FunctionComponent } from 'preact'
import type { Rights } from '../api/types.ts'
import { AccountPage } from '../pages/account/account-page.tsx'
import { AdministratorsPage } from '../pages/administrators/administrators-page.tsx'
import { AuditPage } from '../pages/audit/audit-page.tsx'
import { NodesPage } from '../pages/nodes/nodes-page.tsx'
import { OverviewPage } from '../pages/overview/overview-page.tsx'
import { SecretsPage } from '../pages/secrets/secrets-page.tsx'
import { SettingsPage } from '../pages/settings/settings-page.tsx'
import { UsersPage } from '../pages/users/users-page.tsx'
import type { texts } from '../texts.ts'
import type { IconName } from '../ui/icons.tsx'
import type { SignedIn } from './session.ts'

export interface PageRow {
  /** The first segment of the address. */
  readonly name: IconName & keyof typeof texts.pages
  /** The key after `g`. */
  readonly key: string
  readonly rights: readonly Rights[]
  /** Whether the bar of narrow windows shows it; the others are under "More". */
  readonly isPrimary?: boolean
  readonly Component: FunctionComponent
}

const EVERY_USER: readonly Rights[] = ['administrator', 'userAdmin', 'user']
const ADMINISTRATORS: readonly Rights[] = ['administrator']
const MANAGERS: readonly Rights[] = ['administrator', 'userAdmin']

/** All pages, in the order of the navigation. */
const PAGES: readonly PageRow[] = [
  { name: 'overview', key: 'o', rights: ADMINISTRATORS, isPrimary: true, Component: OverviewPage },
  { name: 'users', key: 'u', rights: MANAGERS, isPrimary: true, Component: UsersPage },
  { name: 'administrators', key: 'a', rights: ADMINISTRATORS, Component: AdministratorsPage },
  { name: 'secrets', key: 's', rights: ADMINISTRATORS, Component: SecretsPage },
  { name: 'settings', key: 't', rights: ADMINISTRATORS, isPrimary: true, Component: SettingsPage },
  { name: 'audit', key: 'l', rights: ADMINISTRATORS, isPrimary: true, Component: AuditPage },
  { name: 'nodes', key: 'n', rights: ADMINISTRATORS, Component: NodesPage },
  { name: 'account', key: 'm', rights: EVERY_USER, isPrimary: true, Component: AccountPage },
]

/** The pages that this user may see. Before a required change of the password, only the one that changes it. */
export const pagesFor = ({ rights, mustChangePassword }: SignedIn): readonly PageRow[] =>
  PAGES.filter((page) => page.rights.includes(rights) && (!mustChangePassword || page.name === 'account'))
