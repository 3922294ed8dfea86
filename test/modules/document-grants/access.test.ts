// What each level may do, for every endpoint of CouchDB and every method: no path is without a decision.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDocumentPath } from '../../../src/dialects/document/steps.ts'
import { toAccount } from '../../../src/directory/account.ts'
import { ANONYMOUS, type Identity } from '../../../src/directory/identity.ts'
import { toNewUser } from '../../../src/directory/users/revisions.ts'
import type { Grant, GrantLevel } from '../../../src/directory/users/user.ts'
import { checkAccess } from '../../../src/modules/document-grants/access.ts'
import { NO_PASSWORD } from '../../../src/passwords/schemes.ts'
import { read } from '../../config/given.ts'
import { ENDPOINTS, METHODS } from './couchdb-endpoints.ts'

const DATABASES = ['shop', 'a/b']

function toUser(level: GrantLevel): Identity {
  const grants = new Map(DATABASES.map((name): [string, Grant] => [name, { level, collections: new Map() }]))
  const account = toAccount(toNewUser({ name: 'ada', multiModel: { grants } }, NO_PASSWORD, undefined))
  return { ...account, grants }
}

type Decide = (path: { readonly isRead: boolean; readonly isRewrite: boolean }) => string

const LEVELS: readonly (readonly [string, Identity, 'security' | 'none', Decide])[] = [
  ['none', toUser('none'), 'security', () => 'database_not_found'],
  ['ro', toUser('ro'), 'security', ({ isRead }) => (isRead ? 'allowed' : 'forbidden')],
  ['rw', toUser('rw'), 'security', ({ isRewrite }) => (isRewrite ? 'forbidden' : 'allowed')],
  ['anonymous', ANONYMOUS.identity, 'security', () => 'allowed'],
  ['anonymous, others none', ANONYMOUS.identity, 'none', () => 'database_not_found'],
]

const PATHS = ENDPOINTS.flatMap(([reads, paths]) => paths.split(' ').map((path) => ({ path, reads: reads.split(' ') })))

for (const [who, identity, others, decide] of LEVELS)
  test(`${who}: every endpoint with every method`, () => {
    const argv = ['--document.grants', 'enforce', '--document.grants-others', others]
    const { values: settings } = read({ argv }).settings
    for (const { path, reads } of PATHS)
      for (const method of METHODS) {
        const { segments } = readDocumentPath(path)
        const header = (name: string) => (name === 'content-length' ? '2' : undefined)
        const refusal = checkAccess({ method, segments, header }, identity, settings)
        const [first = '_'] = segments
        const isRewrite = segments.includes('_rewrite')
        const ofDatabase = decide({ isRead: reads.includes(method), isRewrite })
        const expected = first.startsWith('_') ? (first === '_replicate' ? 'admin_required' : 'allowed') : ofDatabase
        assert.equal(refusal?.code ?? 'allowed', expected, `${method} ${path}`)
      }
  })
