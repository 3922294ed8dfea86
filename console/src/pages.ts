// All pages, in the order of the navigation. No other file names them all.
import type { PageRow } from './frame/page-row.ts'
import { page as account } from './pages/account/index.ts'
import { page as administrators } from './pages/administrators/index.ts'
import { page as audit } from './pages/audit/index.ts'
import { page as databases } from './pages/databases/index.ts'
import { page as nodes } from './pages/nodes/index.ts'
import { page as overview } from './pages/overview/index.ts'
import { page as policy } from './pages/policy/index.ts'
import { page as roles } from './pages/roles/index.ts'
import { page as secrets } from './pages/secrets/index.ts'
import { page as sessions } from './pages/sessions/index.ts'
import { page as settings } from './pages/settings/index.ts'
import { page as users } from './pages/users/index.ts'

export const PAGES: readonly PageRow[] = [
  overview,
  users,
  roles,
  sessions,
  databases,
  administrators,
  policy,
  secrets,
  settings,
  audit,
  nodes,
  account,
]
