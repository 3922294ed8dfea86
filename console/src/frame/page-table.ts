import type { FunctionComponent } from 'preact'
import type { RightsView } from '../api/client.ts'
import { PAGES } from '../pages.ts'
import { type Route, readRoute } from '../router.ts'
import type { PageProps, PageRow } from './page-row.ts'
import { mustActFirst, type SignedIn } from './session.ts'

const ADMINISTRATORS: readonly RightsView[] = ['administrator']

const findByName = (pages: readonly PageRow[], name: string | undefined) =>
  name === undefined ? pages[0] : pages.find((page) => page.name === name)

const loaded = new Map<PageRow, FunctionComponent<PageProps>>()

/** The code of a page, if it is there. */
export const findCode = (page: PageRow): FunctionComponent<PageProps> | undefined => loaded.get(page)

export async function loadCode(page: PageRow): Promise<FunctionComponent<PageProps>> {
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
