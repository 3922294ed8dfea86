import type { FunctionComponent } from 'preact'
import type { Rights } from '../api/client.ts'
import { type Route, readRoute } from '../router.ts'
import type { texts } from '../texts.ts'
import type { IconName } from '../ui/icons.tsx'
import { mustActFirst, type SignedIn } from './session.ts'

export interface PageRow {
  /** The first segment of the address. */
  readonly name: IconName & keyof typeof texts.pages
  /** The key after `g`. */
  readonly key: string
  /** Left out: administrators alone see it. */
  readonly rights?: readonly Rights[]
  /** Whether the bar of narrow windows shows it; the others are under "More". */
  readonly isPrimary?: boolean
  /** What is open there has an id that says nothing to people: the title of the window leaves it out. */
  readonly hasIds?: true
  /** Its code comes with the first visit. */
  readonly load: () => Promise<FunctionComponent>
}

const EVERY_USER: readonly Rights[] = ['administrator', 'userAdmin', 'user']
const ADMINISTRATORS: readonly Rights[] = ['administrator']
const MANAGERS: readonly Rights[] = ['administrator', 'userAdmin']

/** All pages, in the order of the navigation. */
const PAGES: readonly PageRow[] = [
  {
    name: 'overview',
    key: 'o',
    isPrimary: true,
    hasIds: true,
    load: async () => (await import('../pages/overview/overview-page.tsx')).OverviewPage,
  },
  {
    name: 'users',
    key: 'u',
    rights: MANAGERS,
    isPrimary: true,
    load: async () => (await import('../pages/users/users-page.tsx')).UsersPage,
  },
  {
    name: 'roles',
    key: 'r',
    load: async () => (await import('../pages/roles/roles-page.tsx')).RolesPage,
  },
  {
    name: 'sessions',
    key: 'e',
    hasIds: true,
    load: async () => (await import('../pages/sessions/sessions-page.tsx')).SessionsPage,
  },
  {
    name: 'databases',
    key: 'd',
    load: async () => (await import('../pages/databases/databases-page.tsx')).DatabasesPage,
  },
  {
    name: 'administrators',
    key: 'a',
    load: async () => (await import('../pages/administrators/administrators-page.tsx')).AdministratorsPage,
  },
  {
    name: 'policy',
    key: 'f',
    load: async () => (await import('../pages/policy/policy-page.tsx')).PolicyPage,
  },
  {
    name: 'secrets',
    key: 's',
    load: async () => (await import('../pages/secrets/secrets-page.tsx')).SecretsPage,
  },
  {
    name: 'settings',
    key: 't',
    isPrimary: true,
    load: async () => (await import('../pages/settings/settings-page.tsx')).SettingsPage,
  },
  {
    name: 'audit',
    key: 'l',
    isPrimary: true,
    load: async () => (await import('../pages/audit/audit-page.tsx')).AuditPage,
  },
  {
    name: 'nodes',
    key: 'n',
    load: async () => (await import('../pages/nodes/nodes-page.tsx')).NodesPage,
  },
  {
    name: 'account',
    key: 'm',
    rights: EVERY_USER,
    isPrimary: true,
    load: async () => (await import('../pages/account/account-page.tsx')).AccountPage,
  },
]

const findByName = (pages: readonly PageRow[], name: string | undefined) =>
  name === undefined ? pages[0] : pages.find((page) => page.name === name)

const loaded = new Map<PageRow, FunctionComponent>()

/** The code of a page, if it is there. */
export const findCode = (page: PageRow): FunctionComponent | undefined => loaded.get(page)

export async function loadCode(page: PageRow): Promise<FunctionComponent> {
  const code = await page.load()
  loaded.set(page, code)
  return code
}

/** Loads the page that the address names while the server is asked who signed in. The page says if that failed. */
export async function loadFirstPage(): Promise<void> {
  const page = findByName(PAGES, readRoute(location.hash).path[0])
  if (page) await loadCode(page).catch(() => {})
}

/** The page of this address. The first one is the start. */
export const findPage = (pages: readonly PageRow[], { path: [name] }: Route): PageRow | undefined =>
  findByName(pages, pages.length === 1 ? undefined : name)

/** The pages that this user may see. Before a required change of the account, only the one that changes it. */
export const pagesFor = (session: SignedIn): readonly PageRow[] =>
  PAGES.filter(
    ({ name, rights = ADMINISTRATORS }) =>
      rights.includes(session.rights) && (!mustActFirst(session) || name === 'account'),
  )
