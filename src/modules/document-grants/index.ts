/**
 * Grants of the directory at the document door, and read-only access tokens. The table of `endpoints.ts` says what a
 * request needs; `_security` of CouchDB still applies behind it. Tests: `test/modules/document-grants/`,
 * `test/scenario/gateway/grants.test.ts`. Guide: `docs/guides/read-only.md`.
 */
import type { AccessCheck } from '../../dialects/document/explain-access.ts'
import { defineModule } from '../module.ts'
import { userDatabases } from '../user-databases/index.ts'
import { checkAccess, findGrant, type GrantSettings } from './access.ts'
import { documentGrantsOptions } from './options.ts'
import { createGrantSteps } from './steps.ts'

const WORDS = { rw: 'read and write', ro: 'read only', none: 'no access' } as const

const explain = (settings: GrantSettings): AccessCheck => ({
  check: (asked, account) => checkAccess(asked, account, settings),
  describe(account, database) {
    if (settings.document.grants === 'off' || account.isAdmin || database.startsWith('_')) return undefined
    const grant = findGrant(account, database, settings)
    return grant ? `The grant on ${grant.on}: ${WORDS[grant.level]}.` : 'No grant covers it.'
  },
})

export const documentGrants = defineModule({
  name: 'document-grants',
  needs: [userDatabases],
  options: documentGrantsOptions,
  documentDoor: { createSteps: createGrantSteps, knowsReads: true, explain },
})
